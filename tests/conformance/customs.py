"""Custom resources for the conformance tests: CRDs, objects, and what is said of bad ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
INTEGER: wire.Obj = {"type": "integer"}
STRING: wire.Obj = {"type": "string"}


def fields(**properties: wire.Obj) -> wire.Obj:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


def path(crd: wire.Obj, sub: str = "") -> str:
    """Where a CRD stands."""
    return f"{CRDS}/{crd['metadata']['name']}{sub}"


def changed(crd: wire.Obj, change: Callable[[wire.Obj], Any]) -> wire.Obj:
    """A copy whose spec was handed to ``change``."""
    found = copy.deepcopy(crd)
    change(found["spec"])
    return found


def refused(server: wire.Server, crd: wire.Obj) -> list[tuple[str, str, str]]:
    """Reason, field and message of all that the server has against a new CRD; () for none.

    The CRD is not stored in any case.
    """
    answer = server.post(CRDS, crd, dryRun="All")
    return causes(answer) if answer.code != 201 else []


def causes(answer: wire.Answer) -> list[tuple[str, str, str]]:
    """Reason, field and message of the causes in a Status of an invalid object."""
    assert answer.code == 422, answer.text
    assert answer.body["reason"] == "Invalid"
    listed = answer.body["details"]["causes"]
    return [(cause["reason"], cause["field"], cause["message"]) for cause in listed]


@contextmanager
def serving(server: wire.Server, crd: wire.Obj) -> Iterator[wire.Obj]:
    """Create a CRD, wait until all its versions are served, and delete it in the end."""
    created = server.post(CRDS, crd)
    assert created.code == 201, created.text
    try:
        found = server.until(path(crd), wire.established)
        for version in found["spec"]["versions"]:
            if version["served"]:
                spec = found["spec"]
                at = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                server.until(at, lambda _: True)
        yield found
    finally:
        server.delete(path(crd))


def update(
    server: wire.Server, crd: wire.Obj, change: Callable[[wire.Obj], Any], sub: str = ""
) -> wire.Answer:
    """Change a CRD that is there, whatever else happens to it meanwhile."""
    for _ in range(50):
        live = server.get(path(crd)).body
        change(live)
        answer = server.put(path(crd, sub), live)
        if answer.code != 409:
            break
    return answer


def thing(crd: wire.Obj, name: str, version: str = "v1", **rest: Any) -> wire.Obj:
    """An object of the kind of a CRD."""
    spec = crd["spec"]
    head = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
    return {**head, "metadata": {"name": name}, **rest}


def things(crd: wire.Obj, namespace: str, name: str = "", version: str = "v1") -> str:
    """The path of the objects of a CRD, or of one of them."""
    spec = crd["spec"]
    root = f"/apis/{spec['group']}/{version}/namespaces/{namespace}/{spec['names']['plural']}"
    return root + (f"/{name}" if name else "")
