"""Where the programs of a control plane are looked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from ansible_operator.testing import binaries, build, errors


def program(directory: Path, name: str, version: str = "") -> Path:
    """Put an executable there, with the stamp of a build if a version is given."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    if version:
        (directory / f"{name}.version").write_text(version)
    return path


def cached(environ: Mapping[str, str], *names: str) -> Path:
    """Fill the cache with the current version of these programs."""
    cache = binaries.cache_root(environ) / binaries.KUBERNETES
    for item in binaries.PROGRAMS:
        if item.name in names:
            program(cache, item.name, item.version)
    return cache


ALL = tuple(item.name for item in binaries.PROGRAMS)


def test_versions_are_those_of_go_mod() -> None:
    """The versions here and the pins that are built never drift apart."""
    pins = (build.SOURCE / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{binaries.KUBERNETES}" in pins
    assert f"go.etcd.io/etcd/server/v3 v{binaries.ETCD}" in pins
    staging = set(re.findall(r"=> \S+ v(\S+)", pins))
    assert staging == {binaries.KUBERNETES.replace("1.", "0.", 1)}


@pytest.mark.parametrize(
    ("environ", "root"),
    [
        ({"XDG_CACHE_HOME": "/c"}, Path("/c")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache"),
        ({"XDG_CACHE_HOME": ""}, Path.home() / ".cache"),
        ({}, Path.home() / ".cache"),
    ],
)
def test_cache_follows_the_xdg_rule(environ: dict[str, str], root: Path) -> None:
    """An absolute XDG_CACHE_HOME counts; a relative one is ignored, as the XDG rules ask."""
    assert binaries.cache_root(environ) == root / "ansible-operator" / "control-plane"


def test_nothing_is_found_in_an_empty_cache(tmp_path: Path) -> None:
    """All programs are missing."""
    found = binaries.find({"XDG_CACHE_HOME": str(tmp_path)})
    assert found.paths == {}
    assert found.missing == binaries.PROGRAMS


def test_cache_is_used_without_assets(tmp_path: Path) -> None:
    """What the cache holds in the right version is used as it is."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    cache = cached(environ, *ALL)
    lines: list[str] = []
    assert binaries.ensure(environ, lines.append) == {name: cache / name for name in ALL}
    assert lines == []


@pytest.mark.parametrize("spoil", ["version", "stamp", "mode"])
def test_other_version_or_half_a_program_is_not_used(tmp_path: Path, spoil: str) -> None:
    """A program of another version, without its stamp or not executable is built anew."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    cache = cached(environ, *ALL)
    if spoil == "version":
        (cache / "kwok.version").write_text("0.0.1")
    elif spoil == "stamp":
        (cache / "kwok.version").unlink()
    else:
        (cache / "kwok").chmod(0o644)
    found = binaries.find(environ)
    assert [item.name for item in found.missing] == ["kwok"]


def test_assets_come_first_and_the_rest_from_the_cache(tmp_path: Path) -> None:
    """KUBEBUILDER_ASSETS wins for what it holds, and it is said which programs are from where."""
    assets = tmp_path / "assets"
    for name in ("etcd", "kube-apiserver", "kubectl"):
        program(assets, name)
    environ = {"XDG_CACHE_HOME": str(tmp_path), "KUBEBUILDER_ASSETS": str(assets)}
    cache = cached(environ, *ALL)
    lines: list[str] = []
    paths = binaries.ensure(environ, lines.append)
    assert paths["etcd"] == assets / "etcd"
    assert paths["kwok"] == cache / "kwok"
    [line] = lines
    assert "etcd, kubectl, kube-apiserver from there" in line
    assert "kube-scheduler, kube-controller-manager, kwok not there, from the cache" in line


@pytest.mark.parametrize("held", [(), ("etcd",), ("kube-apiserver",)])
def test_assets_without_a_server_are_an_error(tmp_path: Path, held: tuple[str, ...]) -> None:
    """A wrong KUBEBUILDER_ASSETS is never replaced silently; the message says what is absent."""
    for name in held:
        program(tmp_path, name)
    with pytest.raises(errors.ControlPlaneError, match=r"KUBEBUILDER_ASSETS=.*unset it") as caught:
        binaries.find({"KUBEBUILDER_ASSETS": str(tmp_path)})
    for name in {"etcd", "kube-apiserver"} - set(held):
        assert f"no executable {name}" in str(caught.value) or f"no {name}" in str(caught.value)


def test_kubectls_are_the_built_one_and_the_one_on_path(tmp_path: Path) -> None:
    """The built one first, each once; without any the list is empty, wrong assets or not."""
    other = program(tmp_path / "path", "kubectl")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "c"), "PATH": str(other.parent)}
    assert binaries.kubectls(environ) == [other]
    built = cached(environ, "kubectl") / "kubectl"
    assert binaries.kubectls(environ) == [built, other]
    assert binaries.kubectls(environ | {"PATH": str(built.parent)}) == [built]
    assert binaries.kubectls({"KUBEBUILDER_ASSETS": str(tmp_path), "PATH": "/nowhere"}) == []
