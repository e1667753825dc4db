"""The patches that are sent to the API server."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.kube import patches

LEAVES = st.booleans() | st.integers(-2, 2) | st.text(max_size=2)
KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)


def applied(target: Any, patch: Any) -> Any:
    """RFC 7396, as its pseudo-code says."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = applied(result.get(key), value)
    return result


@given(old=MAPS, new=MAPS)
def test_a_merge_patch_turns_the_old_into_the_new(old: Any, new: Any) -> None:
    """Applying the patch to the old value gives exactly the new one."""
    assert patches.same(applied(old, patches.merge(old, new)), new)


@given(value=MAPS)
def test_equal_values_need_no_patch(value: Any) -> None:
    """Nothing is sent if nothing changed."""
    assert patches.merge(value, value) == {}


def test_only_what_changed_is_sent() -> None:
    """Unchanged keys of other writers are not repeated, removed ones become null."""
    old = {"foreign": {"deep": [1]}, "mine": {"a": 1, "b": 2}, "gone": 1}
    new = {"foreign": {"deep": [1]}, "mine": {"a": 1, "b": 3}}
    assert patches.merge(old, new) == {"gone": None, "mine": {"b": 3}}


def test_true_is_not_one() -> None:
    """A boolean that replaces a number is a change, also inside lists and maps."""
    assert patches.merge({"a": 1}, {"a": True}) == {"a": True}
    assert patches.merge({"a": [{"b": 1}]}, {"a": [{"b": True}]}) == {"a": [{"b": True}]}


def thing(*finalizers: str) -> dict[str, Any]:
    """An object with these finalizers."""
    meta: dict[str, Any] = {"name": "x", "resourceVersion": "7"}
    if finalizers:
        meta["finalizers"] = list(finalizers)
    return {"metadata": meta}


@pytest.mark.parametrize("present", [(), ("other",), ("other", "more")])
def test_a_finalizer_is_appended(present: tuple[str, ...]) -> None:
    """Others keep their places, and the list is made where there is none."""
    patched = jsonpatch.apply_patch(thing(*present), patches.add_finalizer(thing(*present), "f"))
    assert patched["metadata"]["finalizers"] == [*present, "f"]


@pytest.mark.parametrize("present", [("f",), ("other", "f"), ("f", "other")])
def test_only_our_finalizer_is_removed(present: tuple[str, ...]) -> None:
    """Others keep their order."""
    obj = thing(*present)
    patched = jsonpatch.apply_patch(obj, patches.remove_finalizer(obj, "f"))
    assert patched["metadata"]["finalizers"] == [name for name in present if name != "f"]


def test_patches_do_not_apply_to_a_changed_object() -> None:
    """The resourceVersion that was read is part of every patch."""
    obj = thing("f")
    newer = thing("f")
    newer["metadata"]["resourceVersion"] = "8"
    for patch in (patches.add_finalizer(obj, "g"), patches.remove_finalizer(obj, "f")):
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            jsonpatch.apply_patch(newer, patch)
    assert patches.status(obj, {"a": 1}) == {
        "metadata": {"resourceVersion": "7"},
        "status": {"a": 1},
    }
