"""Verbosity, time limit and artifacts of a run, and who decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_operator import objects, settings, watches
from ansible_operator.ansible import options

GVK = objects.GVK("g.example.com", "v1", "Thing")
CONFIG = settings.Settings(ansible=settings.AnsibleSettings(verbosity=2, run_timeout=100))


def choose(annotations: dict[str, str], **keys: Any) -> options.Options:
    """The options for an object with these annotations, under a watch with these keys."""
    obj = {"metadata": {"annotations": annotations}}
    return options.choose(obj, watches.Watch(GVK, watches.Role(Path("/r")), **keys), CONFIG)


def test_settings_decide_where_nothing_else_does() -> None:
    """Without annotations and keys the settings hold."""
    assert choose({}) == options.Options(2, 100, watches.DEFAULT_MAX_RUNNER_ARTIFACTS)


def test_watch_beats_settings() -> None:
    """The watch's time limit and number of artifacts hold; 0 is a value, not a gap."""
    chosen = choose({}, run_timeout=0.0, max_runner_artifacts=0)
    assert (chosen.timeout, chosen.max_artifacts) == (0, 0)


def test_annotations_beat_the_watch() -> None:
    """Annotations of the object hold over everything."""
    wanted = {options.VERBOSITY: "4", options.RUN_TIMEOUT: "1m", options.MAX_RUNNER_ARTIFACTS: "3"}
    assert choose(wanted, run_timeout=5.0) == options.Options(4, 60, 3, is_verbose=True)


def test_environment_decides_verbosity_per_kind() -> None:
    """ANSIBLE_VERBOSITY_<KIND>_<GROUP> holds over the flag."""
    config = settings.Settings(environ={"ANSIBLE_VERBOSITY_THING_G_EXAMPLE_COM": "5"})
    watch = watches.Watch(GVK, watches.Role(Path("/r")))
    assert options.choose({}, watch, config).verbosity == 5


@pytest.mark.parametrize(("text", "level"), [("0", 0), ("-3", 0), ("1000000", 7)])
def test_verbosity_is_clamped(text: str, level: int) -> None:
    """Zero and below mean none; a huge number would not fit a command line."""
    assert choose({options.VERBOSITY: text}).verbosity == level


def test_zero_artifacts_in_the_annotation_keeps_all() -> None:
    """0 in the annotation keeps all, as the incumbent does."""
    assert choose({options.MAX_RUNNER_ARTIFACTS: "0"}).max_artifacts == -1


@pytest.mark.parametrize(
    "name", [options.VERBOSITY, options.MAX_RUNNER_ARTIFACTS, options.RUN_TIMEOUT]
)
def test_invalid_annotation_is_ignored_with_a_note(name: str) -> None:
    """An annotation that cannot be read changes nothing and is named."""
    chosen = choose({name: "abc"})
    assert (chosen.verbosity, chosen.timeout, chosen.max_artifacts) == (2, 100, 20)
    (note,) = chosen.notes
    assert note.startswith(f"annotation {name} is ignored: ")
    assert "abc" in note
