"""Objects that others name in their fields, on an API server: who runs when they change."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import api
import pytest
from conftest import World
from ordering import running, serve_another

from ansible_operator.testing import controlplane

NAMING = api.kind("Naming")
WIDE_NAMING = api.kind("WideNaming", namespaced=False)
CONFIG = api.Kind("v1", "ConfigMap", "configmaps")


@pytest.fixture(scope="module")
def world(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """One operator for all tests here."""
    directory = tmp_path_factory.mktemp("references")
    with running(control_plane, module_namespace, directory) as found:
        yield found


def data(password: str) -> dict[str, str]:
    """What is in a Secret."""
    return {"password": base64.b64encode(password.encode()).decode()}


def runs(world: World, *names: str) -> list[int]:
    """How often each Naming has been run."""
    return [len(world.lines("Naming", name)) for name in names]


def name(world: World, name: str, **spec: Any) -> None:
    """Make a Naming and wait for its first run."""
    world.api.create(NAMING, name, spec=spec)
    world.api.until(NAMING, name, api.successful)


def until_runs(world: World, name: str, count: int) -> None:
    """Wait until it has been run so often, and is done."""
    world.api.until(NAMING, name, lambda o: runs(world, name) == [count] and api.successful(o))


@pytest.mark.case("E18")
def test_rotated_secret(world: World) -> None:
    """A Secret that changes runs exactly the objects that name it, once (E18)."""
    for secret in ("cert", "other"):
        world.api.create(api.SECRET, secret, data=data("old"))
    name(world, "tls", tls={"secretName": "cert"})
    users = [{"passwordFrom": {"name": "other"}}, {"passwordFrom": {"name": "cert"}}]
    name(world, "user", users=users)
    name(world, "stranger", tls={"secretName": "other"})
    name(world, "none")
    assert runs(world, "tls", "user", "stranger", "none") == [1, 1, 1, 1]
    world.api.patch(api.SECRET, "cert", {"data": data("new")})
    for one in ("tls", "user"):
        until_runs(world, one, 2)
    serve_another(world, "after-rotation")
    assert runs(world, "tls", "user", "stranger", "none") == [2, 2, 1, 1]


@pytest.mark.case("E18")
def test_secret_that_comes_and_goes(world: World) -> None:
    """A Secret that is made after the object that names it runs it, and so does its end (E18)."""
    name(world, "early", tls={"secretName": "late"})
    world.api.create(api.SECRET, "late", data=data("x"))
    until_runs(world, "early", 2)
    world.api.delete(api.SECRET, "late")
    until_runs(world, "early", 3)


def test_made_in_one_go(world: World) -> None:
    """An object, and right after it the first of the kind that it names: no change is missed."""
    world.api.create(NAMING, "hasty", spec={"config": "settings"})
    world.api.create(CONFIG, "settings", data={"a": "1"})
    world.api.until(NAMING, "hasty", api.successful)
    before = runs(world, "hasty")[0]
    world.api.patch(CONFIG, "settings", {"data": {"a": "2"}})
    world.api.until(NAMING, "hasty", lambda o: runs(world, "hasty")[0] > before)


def test_name_that_is_changed(world: World) -> None:
    """What the object names now counts."""
    for secret in ("before", "now"):
        world.api.create(api.SECRET, secret, data=data("x"))
    name(world, "moved", tls={"secretName": "before"})
    world.api.patch(NAMING, "moved", {"spec": {"tls": {"secretName": "now"}}})
    until_runs(world, "moved", 2)
    world.api.patch(api.SECRET, "before", {"data": data("y")})
    serve_another(world, "after-before")
    assert runs(world, "moved") == [2]
    world.api.patch(api.SECRET, "now", {"data": data("y")})
    until_runs(world, "moved", 3)


def test_cluster_scoped_object(world: World) -> None:
    """It names a Secret with its namespace."""
    unique = f"wide-{world.api.namespace}"
    world.api.create(api.SECRET, "far", data=data("x"))
    spec = {"secrets": [{"name": "far", "namespace": world.api.namespace}]}
    world.api.create(WIDE_NAMING, unique, spec=spec)
    try:
        world.api.until(WIDE_NAMING, unique, api.successful)
        world.api.patch(api.SECRET, "far", {"data": data("y")})
        world.api.until(WIDE_NAMING, unique, lambda _: len(world.lines("WideNaming", unique)) == 2)
    finally:
        world.api.delete(WIDE_NAMING, unique)


def test_secret_is_not_kept_or_written(world: World) -> None:
    """The operator puts nothing on a Secret that is named, and does not show what is in it."""
    world.api.create(api.SECRET, "plain", data=data("swordfish"))
    name(world, "plain", tls={"secretName": "plain"})
    world.api.patch(api.SECRET, "plain", {"data": data("swordfish2")})
    until_runs(world, "plain", 2)
    found = world.api.get(api.SECRET, "plain")
    assert found is not None
    assert not {"annotations", "finalizers", "ownerReferences"} & found["metadata"].keys()
    assert not [line for line in world.operator.lines if data("swordfish2")["password"] in line]
