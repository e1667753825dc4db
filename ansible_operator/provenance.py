"""Which state of the sources this is."""

from __future__ import annotations

import json
import os
from importlib import metadata

_DISTRIBUTION = "ansible-operator"


def commit() -> str:
    """The commit that was built: from the environment of the image, or of a pip install."""
    given = os.environ.get("ANSIBLE_OPERATOR_COMMIT")
    if given:
        return given
    try:
        origin = json.loads(
            metadata.distribution(_DISTRIBUTION).read_text("direct_url.json") or "{}"
        )
    except (metadata.PackageNotFoundError, ValueError):
        return "unknown"
    return str(origin.get("vcs_info", {}).get("commit_id") or "unknown")
