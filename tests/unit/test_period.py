"""How long after a good run an object is run again."""

from __future__ import annotations

import engine_fakes as fakes
import pytest
import structlog

from ansible_operator import objects
from ansible_operator.control import period

FLAG = 36000.0


def annotated(text: str, name: str = "one") -> objects.Obj:
    """An object with the period annotation."""
    return fakes.make(name, annotations={period.ANNOTATION: text})


@pytest.mark.parametrize(
    ("obj", "of_watch", "seconds", "winner"),
    [
        (fakes.make(), None, FLAG, "flag"),
        (fakes.make(), 60.0, 60.0, "watches.yaml"),
        (fakes.make(), 0.0, 0.0, "watches.yaml"),
        (annotated("5s"), 60.0, 5.0, "annotation"),
        (annotated("5s"), None, 5.0, "annotation"),
        (annotated("0"), 60.0, 0.0, "annotation"),
        (annotated("-1h"), 60.0, -3600.0, "annotation"),
    ],
)
def test_annotation_over_file_over_flag(
    obj: objects.Obj, of_watch: float | None, seconds: float, winner: str
) -> None:
    """The annotation wins over the file, which wins over the flag; 0 is a value (W1, W2)."""
    chosen = period.choose(obj, fakes.watch(reconcile_period=of_watch), FLAG)
    assert (chosen.seconds, chosen.given[0][0], chosen.problem) == (seconds, winner, "")


def test_all_places_are_remembered() -> None:
    """What was overridden is known, winner first."""
    chosen = period.choose(annotated("1m30s"), fakes.watch(reconcile_period=60.0), FLAG)
    assert chosen.given == (
        ("annotation", "1m30s"),
        ("watches.yaml", "1m0s"),
        ("flag", "10h0m0s"),
    )


@pytest.mark.parametrize("text", ["abc", "30", "", "5 s"])
def test_invalid_annotation_is_passed_over(text: str) -> None:
    """An annotation that is no duration gives the file's period and a problem naming it (W3)."""
    chosen = period.choose(annotated(text), fakes.watch(reconcile_period=60.0), FLAG)
    assert chosen.seconds == 60.0
    assert chosen.problem.startswith("Unable to parse reconcile period annotation: ")
    assert "ansible.sdk.operatorframework.io/reconcile-period" in chosen.problem
    assert f'"{text}"' in chosen.problem


def said(announcer: period.Announcer, *passes: tuple[objects.Obj, float | None]) -> list[str]:
    """What is logged in these passes: level and winner."""
    with structlog.testing.capture_logs() as lines:
        for obj, of_watch in passes:
            chosen = period.choose(obj, fakes.watch(reconcile_period=of_watch), FLAG)
            announcer.announce(fakes.key(objects.name(obj)), chosen)
    return [f"{line['log_level']} {line['winner']} {line['period']}" for line in lines]


def test_winner_is_logged_once_per_object_and_value() -> None:
    """One line names the winner; again only when the value changes (W2)."""
    announcer = period.Announcer()
    passes = [(annotated("5s"), 60.0)] * 3 + [
        (annotated("7s"), 60.0),
        (annotated("5s", "two"), 60.0),
    ]
    assert said(announcer, *passes) == [
        "info annotation 5s",
        "info annotation 7s",
        "info annotation 5s",
    ]


def test_file_against_flag_is_logged_once_per_kind() -> None:
    """What only the file and the flag decide is the same for all objects of a kind."""
    passes = [(fakes.make("one"), 60.0), (fakes.make("two"), 60.0)]
    assert said(period.Announcer(), *passes) == ["info watches.yaml 1m0s"]


def test_flag_alone_is_not_logged() -> None:
    """There is nothing to say where there is no choice."""
    assert said(period.Announcer(), (fakes.make(), None)) == []


def test_invalid_annotation_is_logged_once() -> None:
    """A bad annotation is a warning, once per value."""
    passes = [(annotated("abc"), None)] * 2 + [(annotated("xyz"), None)]
    assert said(period.Announcer(), *passes) == ["warning flag 10h0m0s"] * 2


def test_annotation_that_comes_back_is_logged_again() -> None:
    """An annotation that was removed and set again is said again; so is one of a new object."""
    announcer = period.Announcer()
    passes = [(annotated("5s"), None), (fakes.make(), None), (annotated("5s"), None)]
    assert said(announcer, *passes) == ["info annotation 5s"] * 2
    announcer.forget(fakes.key())
    assert said(announcer, (annotated("5s"), None)) == ["info annotation 5s"]
