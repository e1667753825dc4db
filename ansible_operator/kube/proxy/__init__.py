"""The API proxy: what runs talk to."""
