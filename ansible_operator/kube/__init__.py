"""Knows the API server and no Ansible; the only package that imports the official client."""
