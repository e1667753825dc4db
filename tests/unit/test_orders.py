"""What annotations of an object order."""

from __future__ import annotations

import engine_fakes as fakes
import pytest
import structlog

from ansible_operator import objects
from ansible_operator.control import orders


def read(**annotations: str) -> orders.Orders:
    """The orders of an object; underscores stand for dashes."""
    given = {f"{objects.ANNOTATION_PREFIX}{k.replace('_', '-')}": v for k, v in annotations.items()}
    return orders.read(fakes.make(annotations=given))


@pytest.mark.parametrize(
    ("text", "means"), [("true", True), ("True", True), ("false", False), ("", False)]
)
def test_flags(text: str, means: bool) -> None:
    """True and false in any case; nothing is false."""
    assert read(pause=text, skip_cleanup=text) == orders.Orders(means, "", means)


@pytest.mark.parametrize("text", ["yes", "1", "on", " true"])
def test_values_that_mean_nothing(text: str) -> None:
    """They order nothing, and are told with the name of the annotation."""
    found = read(pause=text)
    assert (found.paused, len(found.notes)) == (False, 1)
    assert orders.PAUSE in found.notes[0]
    assert f'"{text}"' in found.notes[0]


def test_without_annotations() -> None:
    """Nothing is ordered."""
    assert orders.read({}) == orders.Orders()


def test_long_values_stay_different() -> None:
    """What stands in a condition is short, but two long orders are two."""
    one, two = read(force_run="x" * 5000 + "1").force, read(force_run="x" * 5000 + "2").force
    assert one != two
    assert max(len(one), len(two)) <= 256
    assert read(force_run="a").force == "a"


def test_announcer() -> None:
    """What is ordered is logged once, and again when it has changed."""
    subject = orders.Announcer()
    with structlog.testing.capture_logs() as lines:
        for paused in ("true", "true", "no", "no", "false", "true"):
            subject.announce(fakes.key(), read(pause=paused))
        subject.forget(fakes.key())
        subject.announce(fakes.key(), read())
    assert [line["event"].split(":")[0] for line in lines] == [
        "paused",
        "annotations of the object were not used",
        "resumed",
        "paused",
    ]
