"""Plugins that run inside ansible-playbook, loaded by Ansible from their files."""
