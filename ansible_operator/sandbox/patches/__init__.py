"""Every way of changing an object: patches, server-side apply, and who manages which field."""
