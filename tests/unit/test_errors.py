"""The error tree: what derives from what, and how places are written."""

from __future__ import annotations

import pytest

from ansible_operator import errors


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (errors.Place("w.yaml"), "w.yaml"),
        (errors.Place("w.yaml", 12), "w.yaml:12"),
        (errors.Place("w.yaml", 12, 2), "w.yaml:12: entry 2"),
        (errors.Place("w.yaml", 12, 2, "role"), "w.yaml:12: entry 2: role"),
        (errors.Place("w.yaml", key="role"), "w.yaml: role"),
    ],
)
def test_place(place: errors.Place, text: str) -> None:
    """A place names what is known of file, line, entry and key."""
    assert str(place) == text


def test_watches_error() -> None:
    """Its text is place, problem and way out; further problems have lines of their own."""
    place = errors.Place("w.yaml", 3, 1, "kind")
    other = errors.WatchesError(errors.Place("w.yaml", 9, 2), "is empty")
    error = errors.WatchesError(place, "is missing", "Add one", [other])
    assert str(error) == "w.yaml:3: entry 1: kind: is missing. Add one\nw.yaml:9: entry 2: is empty"
    assert (error.place, error.problem, error.hint) == (place, "is missing", "Add one")
    assert error.others == (other,)


def test_kube_error() -> None:
    """It keeps what the server said in machine-readable form."""
    error = errors.ConflictError("conflict", status=409, reason="AlreadyExists")
    assert (str(error), error.status, error.reason) == ("conflict", 409, "AlreadyExists")
    assert (errors.KubeError("x").status, errors.KubeError("x").reason) == (0, "")


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (errors.SettingsError, errors.ConfigError),
        (errors.WatchesError, errors.ConfigError),
        (errors.RunFailedError, errors.ReconcileError),
        (errors.TerminalError, errors.ReconcileError),
        (errors.UnreachableError, errors.KubeError),
        (errors.UnauthorizedError, errors.KubeError),
        (errors.ForbiddenError, errors.KubeError),
        (errors.NotFoundError, errors.KubeError),
        (errors.ConflictError, errors.KubeError),
        (errors.InvalidError, errors.KubeError),
        (errors.ServerError, errors.KubeError),
        (errors.ConfigError, errors.OperatorError),
        (errors.ReconcileError, errors.OperatorError),
        (errors.KubeError, errors.OperatorError),
    ],
)
def test_tree(error: type[Exception], base: type[Exception]) -> None:
    """The tree is the one that the module draws."""
    assert error.__base__ is base
