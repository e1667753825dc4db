"""A filter plugin of the project, which only its ansible.cfg makes known to Ansible."""

from __future__ import annotations

from collections.abc import Callable


def test(value: str) -> str:
    """What the playbook expects of a value that went through the filter."""
    return f"{value}: filtered"


class FilterModule:
    """The filters of this file, as Ansible asks for them."""

    def filters(self) -> dict[str, Callable[[str], str]]:
        return {"test": test}
