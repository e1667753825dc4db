"""Request bodies: from bytes to objects, with the server's words for what is wrong with them."""
