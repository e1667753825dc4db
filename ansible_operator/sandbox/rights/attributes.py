"""What a request wants to do to what: from its method and URL, before it is known what exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_PREFIXES = ("watch", "proxy")
_OF_NAMESPACES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for. With a ``path`` it is no resource and only ``verb`` counts besides."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def kind(self) -> str:
        """Empty: before the resource is looked up, nobody knows."""
        return ""

    @property
    def qualified(self) -> str:
        """The resource with its group, as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def resource(self) -> str:
        """The resource with its subresource, as roles name it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def of_request(method: str, path: str, query: Mapping[str, str]) -> Attributes:
    """The attributes of a request; ``path`` without the query, unquoted."""
    parts = path.strip("/").split("/")
    core = parts[0] == "api"
    rest = parts[2:] if core else parts[3:] if parts[0] == "apis" else []
    if not rest or "" in parts:
        return Attributes(method.lower(), path)
    group, version = ("", parts[1]) if core else (parts[1], parts[2])
    verb = VERBS.get(method, "")
    if rest[0] in _PREFIXES and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace, rest = _namespace(rest)
    if rest[0] == "namespaces" and rest[1:2] != [namespace] and namespace:
        return Attributes(method.lower(), path)  # namespaces are in no namespace
    plural, name, subresource, *_ = [*rest, "", ""]
    if not name:
        verb, name = _of_collection(verb, query)
    return Attributes(verb, "", group, version, plural, subresource, namespace, name)


def _namespace(rest: list[str]) -> tuple[str, list[str]]:
    if rest[0] != "namespaces" or len(rest) == 1:
        return "", rest
    inside = len(rest) > 2 and rest[2] not in _OF_NAMESPACES
    return rest[1], rest[2:] if inside else rest


def _of_collection(verb: str, query: Mapping[str, str]) -> tuple[str, str]:
    if verb == "delete":
        return "deletecollection", ""
    if verb not in ("get", "watch"):
        return verb, ""
    watching = verb == "watch" or query.get("watch", "false") not in ("false", "0")
    return "watch" if watching else "list", _selected(query.get("fieldSelector", ""))


def _selected(selector: str) -> str:
    """The one name that a field selector leaves, else an empty text."""
    for term in selector.split(","):
        field, _, value = term.partition("=")
        if field == "metadata.name":
            return value.removeprefix("=")
    return ""
