"""Knows Ansible and no API server: from an object to a finished run and its verdict."""
