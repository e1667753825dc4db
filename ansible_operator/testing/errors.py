"""What can go wrong with a control plane."""

from __future__ import annotations


class ControlPlaneError(Exception):
    """A control plane cannot be built, started or found; the message says what to do about it."""
