"""The echo of own writes is told from foreign changes."""

from __future__ import annotations

from dataclasses import replace

import children_fakes as fakes
import pytest

from ansible_operator import children
from ansible_operator.control import ownwrites

PATCH = children.Write("patch", fakes.CONFIG_MAP, "prod", "settings", "uid-settings", "7")
DELETE = replace(PATCH, verb="delete", resource_version="")
SWEEP = children.Write("deletecollection", fakes.CONFIG_MAP, "prod", "")
CHANGED = ownwrites.Sight("", "ConfigMap", "prod", "settings", "uid-settings", "7")
GOING = replace(CHANGED, resource_version="8", going=True)
GONE = replace(CHANGED, resource_version="", going=True, gone=True)


def after(*writes: children.Write) -> ownwrites.OwnWrites:
    """The memory of a run that is under way and has written this, at the time 0."""
    memory = ownwrites.OwnWrites()
    memory.begin()
    for write in writes:
        memory.wrote(write, 0.0)
    return memory


def test_version_of_a_write() -> None:
    """The object in exactly the version that the write has made."""
    memory = after(PATCH)
    assert memory.claims(CHANGED, 1.0)
    assert not memory.claims(replace(CHANGED, resource_version="8"), 1.0)
    assert not memory.claims(replace(CHANGED, uid="another"), 1.0)


def test_version_without_uid() -> None:
    """An answer that does not tell the uid is recognised by kind and version."""
    memory = after(replace(PATCH, uid="", name=""))
    assert memory.claims(CHANGED, 1.0)
    assert not memory.claims(replace(CHANGED, kind="Secret"), 1.0)
    assert not memory.claims(replace(CHANGED, group="apps"), 1.0)


def test_a_write_is_no_deletion() -> None:
    """Somebody deletes what the run has written: foreign."""
    memory = after(PATCH)
    assert not memory.claims(GOING, 1.0)
    assert not memory.claims(GONE, 1.0)


@pytest.mark.parametrize("write", [DELETE, replace(DELETE, uid="")])
def test_deletion(write: children.Write) -> None:
    """Both steps of a deletion are own ones, with or without a uid; a later edit is not."""
    memory = after(write)
    assert not memory.claims(replace(CHANGED, resource_version="9"), 1.0)
    assert memory.claims(GOING, 1.0)
    assert memory.claims(GONE, 1.0)


def test_deletion_by_name_counts_once() -> None:
    """The next object of the same name is deleted by somebody else."""
    memory = after(replace(DELETE, uid=""))
    assert memory.claims(GONE, 1.0)
    assert not memory.claims(replace(GONE, uid="another"), 1.0)


def test_deletion_of_a_collection() -> None:
    """What vanishes in its namespace until shortly after the run is an own deletion."""
    memory = after(SWEEP)
    assert memory.claims(GOING, 100.0)
    assert not memory.claims(replace(GONE, namespace="other", uid="another"), 100.0)
    memory.end(200.0)
    assert memory.claims(replace(GONE, uid="another"), 200.0 + ownwrites.SETTLE - 1)
    assert not memory.claims(replace(GONE, uid="another"), 200.0 + ownwrites.SETTLE + 1)
    assert memory.claims(GONE, 200.0 + ownwrites.SETTLE + 1), "its deletion was asked for in time"


def test_deletion_of_a_collection_everywhere() -> None:
    """Without a namespace it is about all of them."""
    assert after(replace(SWEEP, namespace="")).claims(GONE, 1.0)


def test_writes_are_kept_during_the_run_and_some_time_longer() -> None:
    """A long run does not forget what it wrote first; some minutes after its end all is gone."""
    memory = after(PATCH)
    assert memory.claims(CHANGED, 9999.0)
    memory.end(9999.0)
    assert memory.claims(CHANGED, 9999.0 + ownwrites.KEEP - 1)
    assert not memory.claims(CHANGED, 9999.0 + ownwrites.KEEP + 1)
    memory.prune(9999.0 + ownwrites.KEEP + 1)
    assert len(memory) == 0


def test_a_write_that_is_told_after_the_run() -> None:
    """A request that outlives its run is remembered as well, and forgotten as well."""
    memory = after()
    memory.end(10.0)
    memory.wrote(PATCH, 11.0)
    assert memory.claims(CHANGED, 12.0)
    assert not memory.claims(CHANGED, 12.0 + ownwrites.KEEP)


def test_memory_is_bounded() -> None:
    """Of very many writes the newest are remembered."""
    many = ownwrites.LIMIT + 5
    memory = after(*(replace(PATCH, resource_version=str(version)) for version in range(many)))
    assert len(memory) == ownwrites.LIMIT
    assert not memory.claims(replace(CHANGED, resource_version="4"), 1.0)
    assert memory.claims(replace(CHANGED, resource_version=str(many - 1)), 1.0)
