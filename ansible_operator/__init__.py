"""Ship a Kubernetes operator written in Ansible.

A ``watches.yaml`` maps custom resource kinds to roles and playbooks; a change of a custom
resource starts ansible-runner with its spec as extra vars, and what the tasks did comes back as
status conditions. ``docs/architecture.md`` tells how the package is cut into parts.
"""

__version__ = "0.1.0"
