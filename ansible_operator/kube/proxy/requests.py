"""What a request asks of the API server, told from its method and target alone.

The rules are those of the API server (``RequestInfoFactory`` in k8s.io/apiserver), so that what
is decided here is decided about the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib import parse as urls

from ansible_operator.kube.proxy import interceptor

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_PREFIXES = ("watch", "proxy")  # verbs of old that stand in the path
_OF_NAMESPACES = ("status", "finalize")


def parse(method: str, target: str) -> interceptor.Request:
    """Read a request; ``target`` is the path with the query, as it came. Never raises."""
    path, _, query = target.partition("?")
    first = _first(query)
    bare = interceptor.Request(method, target, query=first)
    parts = urls.unquote(path).strip("/").split("/")
    rooted = _rooted(parts)
    if rooted is None:
        return bare
    group, version, rest = rooted
    verb = _VERBS.get(method, "")
    if rest[0] in _PREFIXES:
        if len(rest) < 2:
            return bare
        verb, rest = rest[0], rest[1:]
    namespace, rest = _namespace(rest)
    resource, name, subresource, *_ = [*rest, "", ""]
    if not resource:
        return bare
    if verb in _PREFIXES:
        subresource = ""
    if not name:
        verb, name = _of_collection(verb, first)
    return interceptor.Request(
        method, target, verb, group, version, resource, subresource, namespace, name, first
    )


def _rooted(parts: list[str]) -> tuple[str, str, list[str]] | None:
    """Group, version and what follows them; None for what is no resource."""
    match parts:
        case ["api", version, *rest] if rest:
            return "", version, rest
        case ["apis", group, version, *rest] if rest:
            return group, version, rest
        case _:
            return None


def _namespace(rest: list[str]) -> tuple[str, list[str]]:
    if rest[0] != "namespaces" or len(rest) == 1:
        return "", rest
    inside = len(rest) > 2 and rest[2] not in _OF_NAMESPACES
    return rest[1], rest[2:] if inside else rest


def _of_collection(verb: str, query: Mapping[str, str]) -> tuple[str, str]:
    """The verb for a request that names no object, and the one name that a selector leaves."""
    match verb:
        case "delete":
            return "deletecollection", ""
        case "get":
            watching = query.get("watch", "false").lower() not in ("false", "0")
            return "watch" if watching else "list", _selected(query.get("fieldSelector", ""))
        case "watch":
            return "watch", _selected(query.get("fieldSelector", ""))
        case _:
            return verb, ""


def _selected(selector: str) -> str:
    for term in selector.split(","):
        field, separator, value = term.partition("=")
        if field == "metadata.name" and separator:
            return value.removeprefix("=")
    return ""


def _first(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in urls.parse_qsl(query, keep_blank_values=True):
        found.setdefault(key, value)
    return found
