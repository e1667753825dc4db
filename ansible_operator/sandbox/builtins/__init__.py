"""What the API server does with the objects of the kinds that it knows itself."""
