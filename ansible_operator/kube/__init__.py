"""Knows the API server and no Ansible: connection, discovery, finalizers, status writes."""
