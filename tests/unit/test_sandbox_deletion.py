"""Tests of ansible_operator.sandbox.deletion: at once, in steps, or not at all."""

from __future__ import annotations

import pytest
import sandbox_fakes

from ansible_operator.sandbox import deletion, failure, options


def delete(
    lab: sandbox_fakes.Lab, resource: str, name: str, how: options.Delete
) -> dict[str, object]:
    """Delete in the namespace ``ns``."""
    found = lab.registry.kinds.named(resource)
    assert found is not None
    return deletion.delete(lab.registry, found, "ns", name, how)


def test_without_finalizers_it_is_gone_at_once() -> None:
    """And the answer is a Status."""
    lab = sandbox_fakes.Lab()
    lab.create("configmaps", "a")
    assert delete(lab, "configmaps", "a", options.Delete())["status"] == "Success"
    assert lab.api.get("configmaps", "ns", "a") is None


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")]
)
def test_policies_of_the_garbage_collector_are_finalizers(policy: str, finalizer: str) -> None:
    """They take each other's place, and leave those of others."""
    lab = sandbox_fakes.Lab()
    meta = {"finalizers": ["example.com/keep", "orphan"]}
    lab.api.create(
        "configmaps",
        {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns", **meta}},
    )
    delete(lab, "configmaps", "a", options.Delete(propagation=policy))
    found = lab.api.get("configmaps", "ns", "a")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["example.com/keep", finalizer]
    assert "deletionTimestamp" in found["metadata"]


def test_the_first_mark_stays() -> None:
    """A second deletion changes nothing, so that nobody is woken for it."""
    lab = sandbox_fakes.Lab()
    meta = {"finalizers": ["example.com/keep"]}
    lab.api.create(
        "configmaps", {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns", **meta}}
    )
    first = delete(lab, "configmaps", "a", options.Delete())
    lab.loop.run(60)
    assert delete(lab, "configmaps", "a", options.Delete()) == first


def test_a_dry_run_leaves_the_object() -> None:
    """And answers as if not."""
    lab = sandbox_fakes.Lab()
    lab.create("configmaps", "a")
    assert delete(lab, "configmaps", "a", options.Delete(dry_run=True))["status"] == "Success"
    assert lab.api.get("configmaps", "ns", "a") is not None


def test_preconditions_protect_a_successor() -> None:
    """Who names the uid of the one that was there before does not delete the new one."""
    lab = sandbox_fakes.Lab()
    lab.create("configmaps", "a")
    with pytest.raises(failure.ApiFailure) as refused:
        delete(lab, "configmaps", "a", options.Delete(uid="of-the-one-before"))
    assert refused.value.code == 409
