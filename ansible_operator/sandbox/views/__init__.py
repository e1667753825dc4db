"""What clients are shown: discovery, OpenAPI, tables and forms of answers."""
