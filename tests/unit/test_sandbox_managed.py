"""Managed fields and server-side apply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import managed, managers
from ansible_operator.sandbox.schemas import schema

CONFIGMAP = schema.builtin("", "v1", "ConfigMap")
DEPLOYMENT = schema.builtin("apps", "v1", "Deployment")
CUSTOM = schema.custom(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "text": {"type": "string"},
                    "set": {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"type": "string"},
                    },
                },
            },
            "status": schema.ANY,
        },
    }
)


def configmap(**data: Any) -> dict[str, Any]:
    """A config map."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def custom(**spec: Any) -> dict[str, Any]:
    """A custom object."""
    return {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec}


def track(old: Any, new: Any, manager: str, of: Any = CONFIGMAP, **how: Any) -> dict[str, Any]:
    """A write at noon; the old object's entries are those of the new one."""
    if old is not None and "managedFields" not in new["metadata"]:
        entries = old["metadata"].get("managedFields")
        new = {**new, "metadata": {**new["metadata"], "managedFields": entries}}
    how = {"api_version": "v1", "time": "2026-01-01T12:00:00Z", **how}
    return managed.track(old, new, of, manager=manager, **how)


def apply(live: Any, patch: Any, manager: str, of: Any = CUSTOM, **how: Any) -> dict[str, Any]:
    """An apply at noon."""
    how = {"api_version": "x/v1", "time": "2026-01-01T12:00:00Z", "force": False, **how}
    return managed.apply(live, patch, of, manager=manager, **how)


def fields(obj: Any) -> dict[str, Any]:
    """What each manager owns."""
    entries = obj["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def conflict(*arguments: Any, **how: Any) -> str:
    """The message of an apply that conflicts."""
    with pytest.raises(failure.ApiFailure) as caught:
        apply(*arguments, **how)
    assert caught.value.code == 409
    return caught.value.message


def test_a_new_object_belongs_to_who_made_it() -> None:
    """But not its name and what else the server sets."""
    (entry,) = track(None, configmap(a="1"), "me")["metadata"]["managedFields"]
    assert entry == {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T12:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
    }


def test_structs_that_are_always_there_are_not_new() -> None:
    """In Go they are part of the empty object."""
    container = {"name": "c", "image": "i", "resources": {}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"strategy": {"type": "X"}, "template": template},
    }
    entry: dict[str, Any] = {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}
    assert fields(track(None, obj, "me", DEPLOYMENT))["me"] == {
        "f:spec": {
            "f:strategy": {"f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:containers": {'k:{"name":"c"}': entry}},
            },
        }
    }


def test_fields_change_hands() -> None:
    """Who changes one has it, what is removed nobody, and who has none is gone."""
    first = track(None, configmap(a="1", b="1"), "one")
    second = track(first, configmap(a="2"), "two", time="2026-01-01T13:00:00Z")
    assert fields(second) == {"one": {"f:data": {}}, "two": {"f:data": {"f:a": {}}}}
    third = track(second, configmap(), "three")
    assert fields(third) == {"one": {"f:data": {}}}
    fourth = track(second, configmap(a="2"), "three")
    assert fourth["metadata"]["managedFields"] == second["metadata"]["managedFields"]


def test_objects_without_entries_stay_without() -> None:
    """Until the first apply."""
    old = configmap(a="1")
    assert "managedFields" not in track(old, configmap(a="2"), "me")["metadata"]


def test_resetting_entries() -> None:
    """An empty entry always does it, an empty list only for built-in kinds."""
    old = track(None, custom(size=1), "me", CUSTOM)
    for given, left in (([{}], []), ([], ["me"]), (None, ["me"])):
        new = {**old, "metadata": {**old["metadata"], "managedFields": given}}
        assert list(fields(track(old, new, "me", CUSTOM))) == left
    old = track(None, configmap(a="1"), "me")
    new = {**old, "metadata": {**old["metadata"], "managedFields": []}}
    assert fields(track(old, new, "me")) == {}


def test_status_and_object_are_apart() -> None:
    """Where there is a status subresource."""
    obj = {**custom(size=1), "status": {"x": 1}}
    assert list(fields(track(None, obj, "me", CUSTOM))["me"]) == ["f:spec"]
    both = fields(track(None, obj, "me", CUSTOM, with_status=False))["me"]
    assert sorted(both) == ["f:spec", "f:status"]
    old = track(None, custom(size=1), "me", CUSTOM)
    new = {**obj, "spec": {"size": 2}}
    found = track(old, new, "other", CUSTOM, subresource="status")
    assert fields(found)["other"] == {"f:status": {".": {}, "f:x": {}}}


def test_scaling_is_noted_without_a_time() -> None:
    """And only if somebody had the replicas."""
    old = track(None, custom(size=1), "me", CUSTOM)
    found = track(old, custom(size=2), "s", CUSTOM, subresource="scale")
    assert fields(found)["s"] == {"f:spec": {"f:size": {}}}
    assert "time" not in found["metadata"]["managedFields"][0]
    old = track(None, custom(text="x"), "me", CUSTOM)
    found = track(old, custom(text="x", size=2), "s", CUSTOM, subresource="scale")
    assert list(fields(found)) == ["me"]


def test_there_are_at_most_ten_updates() -> None:
    """The oldest are put together."""
    obj = track(None, configmap(k="v"), "m00")
    for number in range(1, 13):
        data = {f"k{one}": "v" for one in range(1, number + 1)}
        obj = track(obj, configmap(k="v", **data), f"m{number:02}")
    assert len(fields(obj)) == managers.UPDATES
    assert sorted(fields(obj)[managers.ANCIENT]["f:data"]) == [".", "f:k", "f:k1", "f:k2", "f:k3"]


def test_apply_owns_what_it_says() -> None:
    """And removes what it said before, unless another says it too."""
    one = apply(None, custom(size=1, text="x", set=["a", "b"]), "one")
    assert fields(one)["one"] == {
        "f:spec": {"f:size": {}, "f:text": {}, "f:set": {'v:"a"': {}, 'v:"b"': {}}}
    }
    two = apply(one, custom(size=1, set=["c", "b"]), "two")
    assert two["spec"]["set"] == ["a", "c", "b"]
    found = apply(two, custom(text="x"), "one")
    assert found["spec"] == {"size": 1, "text": "x", "set": ["c", "b"]}


def test_apply_conflicts() -> None:
    """The message names managers and fields; force takes over."""
    live = apply(None, custom(size=1, text="x"), "one")
    live = track(live, custom(size=1, text="y"), "two", CUSTOM, api_version="x/v1")
    told = conflict(live, custom(size=2), "three")
    assert told == 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    told = conflict(live, custom(size=2, text="z"), "three")
    assert told == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.size\n'
        'conflicts with "two" using x/v1:\n- .spec.text'
    )
    found = apply(live, custom(size=2, text="z"), "three", force=True)
    assert list(fields(found)) == ["three"]


def test_the_same_again() -> None:
    """It is the object itself, with the time of the first apply."""
    live = apply(None, custom(size=1), "one")
    assert apply(live, custom(size=1), "one", time="2026-01-01T13:00:00Z") == live
    found = apply(live, custom(size=1), "two")
    assert "time" not in found["metadata"]["managedFields"][0]


def test_the_first_apply_of_an_object_without_entries() -> None:
    """What was there is noted for a manager of its own."""
    found = apply(custom(size=1), custom(text="x"), "one")
    assert fields(found)[managed.BEFORE] == {"f:spec": {".": {}, "f:size": {}}}


def test_a_map_that_is_emptied_is_null() -> None:
    """As the server has it; metadata stay."""
    patch = custom(size=1)
    patch["metadata"] = {"name": "a", "labels": {"l": "1"}}
    live = apply(None, patch, "one")
    patch = {**custom(), "metadata": {"name": "a"}}
    found = apply(live, patch, "one")
    assert (found["spec"], found["metadata"]["name"]) == (None, "a")
    assert "labels" not in found["metadata"]


def test_what_may_not_be_applied() -> None:
    """Managed fields, and what does not fit the schema."""
    patch = custom()
    patch["metadata"]["managedFields"] = []
    with pytest.raises(failure.ApiFailure, match=r"metadata\.managedFields must be nil"):
        apply(None, patch, "one")
    with pytest.raises(failure.ApiFailure) as caught:
        apply(None, custom(size="x", other=1), "one")
    assert (caught.value.code, caught.value.message) == (
        500,
        "failed to create typed patch object (/a; x/v1, Kind=X): .spec.other: field not declared "
        "in schema",
    )
    with pytest.raises(failure.ApiFailure) as caught:
        apply(None, custom(size="x", set=["a", "a"]), "one")
    assert caught.value.message == (
        "failed to create typed patch object (/a; x/v1, Kind=X): errors:\n"
        '  .spec.set: duplicate entries for key [="a"]\n'
        "  .spec.size: expected numeric (int or float), got string"
    )


def test_kubectl_takes_what_it_last_applied() -> None:
    """And keeps the annotation up to date."""
    last = json.dumps(configmap(same="1", changed="1"))
    body = configmap(same="1", changed="2")
    body["metadata"]["annotations"] = {managed.LAST_APPLIED: last}
    live = track(None, body, "me")
    told = conflict(live, configmap(same="3", changed="3"), "kubectl", CONFIGMAP)
    assert told == 'Apply failed with 1 conflict: conflict with "me" using v1: .data.changed'
    found = apply(live, configmap(same="3"), "kubectl", CONFIGMAP)
    assert found["data"] == {"same": "3", "changed": "2"}
    assert found["metadata"]["annotations"][managed.LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"same":"3"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )


def test_names_of_managers() -> None:
    """The first word of the user agent; what is printable, and not too long."""
    assert managers.of_agent("kubectl/v1 (x)") == "kubectl"
    assert managers.of_agent("/x") == "unknown"
    assert managers.of_agent("é" * 100) == "é" * 64
    (cause,) = managers.validate_name("f", "é\n")
    assert cause.message == 'Invalid value: "é\\n": invalid character U+000A (at position 2)'
    (cause,) = managers.validate([{"manager": "x" * 129}])
    assert cause.field == "metadata.managedFields[0].manager"
