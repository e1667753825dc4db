"""How one run is done: verbosity, time limit, artifacts; from annotation, watch and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ansible_operator import durations, objects, settings, watches

MAX_RUNNER_ARTIFACTS = f"{objects.ANNOTATION_PREFIX}max-runner-artifacts"
VERBOSITY = f"{objects.ANNOTATION_PREFIX}verbosity"
RUN_TIMEOUT = f"{objects.ANNOTATION_PREFIX}run-timeout"

_MAX_VERBOSITY = 7

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """``timeout`` is in seconds, 0 and below for none; ``max_artifacts`` negative keeps all.

    ``is_verbose`` says that the object asks for verbosity itself; ``notes`` name annotations that
    could not be used.
    """

    verbosity: int
    timeout: float
    max_artifacts: int
    is_verbose: bool = False
    notes: tuple[str, ...] = ()


def choose(obj: objects.Obj, watch: watches.Watch, config: settings.Settings) -> Options:
    """The annotation of the object decides, then the watch, then the settings.

    In the annotation for artifacts 0 keeps all, as the incumbent does.
    """
    notes: list[str] = []
    verbosity = _annotation(obj, VERBOSITY, _integer, notes)
    timeout = _annotation(obj, RUN_TIMEOUT, durations.parse, notes)
    kept = _annotation(obj, MAX_RUNNER_ARTIFACTS, _integer, notes)
    if timeout is None:
        timeout = config.ansible.run_timeout if watch.run_timeout is None else watch.run_timeout
    level = config.verbosity(watch.gvk) if verbosity is None else verbosity
    return Options(
        verbosity=min(max(level, 0), _MAX_VERBOSITY),
        timeout=timeout,
        max_artifacts=watch.max_runner_artifacts if kept is None else (kept or -1),
        is_verbose=(verbosity or 0) > 0,
        notes=tuple(notes),
    )


def _annotation(
    obj: objects.Obj, name: str, parse: Callable[[str], T], notes: list[str]
) -> T | None:
    text = objects.annotations(obj).get(name)
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        notes.append(f"annotation {name} is ignored: {error}")
        return None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a whole number, such as 3') from None
