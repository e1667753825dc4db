"""Which requests are writes of an object."""

from __future__ import annotations

import owners
import pytest

from ansible_operator.kube.proxy import interceptor, subresources


def request(verb: str, name: str = "x", subresource: str = "", **query: str) -> interceptor.Request:
    """A request about a config map."""
    return interceptor.Request(
        "POST", "/", verb, "", "v1", "configmaps", subresource, "ns", name, query
    )


@pytest.mark.parametrize(
    ("asked", "is_write"),
    [
        (request("create", ""), True),
        (request("create"), False),
        (request("update"), True),
        (request("update", ""), False),
        (request("patch"), True),
        (request("delete"), True),
        (request("deletecollection", ""), True),
        (request("patch", subresource="scale"), True),
        (request("patch", subresource="scale", dryRun="All"), False),
        (request("create", subresource="eviction"), True),
        (request("create", subresource="exec"), False),
        (request("create", subresource="attach"), False),
        (request("create", subresource="portforward"), False),
        (request("update", subresource="proxy"), False),
    ],
)
def test_is_write(asked: interceptor.Request, is_write: bool) -> None:
    """Connections to pods are left alone, whatever their method."""
    assert subresources.is_write(asked) is is_write


@pytest.mark.parametrize(
    ("asked", "kind", "verb"),
    [
        (request("patch", subresource="status"), "ConfigMap", "patch"),
        (request("update", subresource="scale"), "Scale", "update"),
        (request("create", subresource="token"), "TokenRequest", ""),
        (request("create", subresource="binding"), "Status", ""),
        (request("create", subresource="eviction"), "Status", "delete"),
    ],
)
def test_verb(asked: interceptor.Request, kind: str, verb: str) -> None:
    """The answer tells: the parent or its scale were written, or something else was made."""
    shown = {"kind": kind, "metadata": {"resourceVersion": "1"}}
    assert subresources.verb(asked, owners.CONFIGMAP, shown) == verb
