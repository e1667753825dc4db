"""Strategic merge patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import strategic
from ansible_operator.sandbox.schemas import schema

DEPLOYMENT = schema.builtin("apps", "v1", "Deployment")
SPEC = {
    "containers": [
        {"name": "a", "image": "1", "args": ["x", "y"], "env": [{"name": "E", "value": "1"}]},
        {"name": "b", "image": "2"},
        {"name": "c", "image": "3"},
    ],
    "tolerations": [{"key": "t"}],
    "nodeSelector": {"n": "1"},
    "volumes": [{"name": "v", "emptyDir": {}}],
}
META = {"finalizers": ["1", "2", "3"], "labels": {"l": "1"}}
OBJ = {"metadata": META, "spec": {"template": {"spec": SPEC}, "strategy": {"type": "A", "x": 1}}}
ORDER = "$setElementOrder/containers"


def merged(change: Any) -> Any:
    """OBJ with a patch merged in."""
    before = copy.deepcopy(OBJ)
    found = strategic.merge(OBJ, change, DEPLOYMENT)
    assert before == OBJ
    return found


def spec(change: Any) -> Any:
    """The pod's spec after a patch of it."""
    return merged({"spec": {"template": {"spec": change}}})["spec"]["template"]["spec"]


def names(*entries: Any, order: Any = None) -> list[str]:
    """The names of the containers after a patch of them."""
    change = {"containers": list(entries)} if entries else {}
    return [c["name"] for c in spec(change | ({ORDER: order} if order else {}))["containers"]]


def refused(change: Any) -> tuple[int, str]:
    """Code and message of a patch of the pod's spec that makes no sense."""
    with pytest.raises(failure.ApiFailure) as caught:
        spec(change)
    return caught.value.code, caught.value.message


def test_lists_are_merged_by_key_or_replaced() -> None:
    """As the schema says; what is new comes first."""
    env = [{"name": "F", "value": "2"}, {"name": "E", "value": None}]
    found = spec({"containers": [{"name": "a", "args": ["z"], "env": env}], "tolerations": []})
    assert found["containers"][0] == {
        "name": "a",
        "image": "1",
        "args": ["z"],
        "env": [{"name": "F", "value": "2"}, {"name": "E"}],
    }
    assert found["tolerations"] == []
    assert names({"name": "n"}, {"name": "b"}) == ["n", "a", "b", "c"]


def test_directives_in_lists() -> None:
    """Entries are deleted by their key, or the whole list is replaced."""
    assert names({"$patch": "delete", "name": "b"}) == ["a", "c"]
    assert names({"name": "n"}, {"$patch": "replace"}) == ["n"]


def test_directives_in_maps() -> None:
    """A map is replaced or emptied; where there is none, nothing is left of such a patch."""
    assert spec({"nodeSelector": {"$patch": "replace", "m": "2"}})["nodeSelector"] == {"m": "2"}
    assert spec({"nodeSelector": {"$patch": "delete"}})["nodeSelector"] == {}
    assert spec({"affinity": {"$patch": "replace", "x": 1}})["affinity"] is None
    new = [{"name": "i", "x": None, "env": [{"$patch": "delete", "name": "E"}]}]
    assert spec({"initContainers": new})["initContainers"] == [{"name": "i", "env": []}]


def test_retain_keys() -> None:
    """What is not named goes; what is set must be named."""
    strategy = {"$retainKeys": ["type"], "type": "B"}
    assert merged({"spec": {"strategy": strategy}})["spec"]["strategy"] == {"type": "B"}
    for wrong in (["x"], "type"):
        with pytest.raises(failure.ApiFailure) as caught:
            merged({"spec": {"strategy": {"$retainKeys": wrong, "type": "B"}}})
        assert caught.value.message == "invalid patch format of retainKeys"


def test_the_order_of_elements() -> None:
    """What is named stands in that order, the others keep their place as far as that goes."""
    assert names(order=[{"name": "c"}, {"name": "a"}]) == ["b", "c", "a"]
    assert names({"name": "n"}, order=[{"name": "c"}, {"name": "n"}, {"name": "a"}]) == [
        "b",
        "c",
        "n",
        "a",
    ]
    gone = {"$patch": "delete", "name": "c"}
    assert names({"name": "n"}, gone, order=[{"name": "n"}, {"name": "a"}]) == ["b", "n", "a"]
    order = {"$setElementOrder/initContainers": [{"name": "x"}]}
    assert "initContainers" not in spec(order)
    assert spec({**order, "initContainers": [{"name": "x"}]})["initContainers"] == [{"name": "x"}]


def test_lists_of_primitives() -> None:
    """They are merged without repetition; entries are deleted by a directive."""

    def finalizers(**change: Any) -> Any:
        return merged({"metadata": change})["metadata"]["finalizers"]

    assert finalizers(finalizers=["4", "2"]) == ["4", "1", "2", "3"]
    assert finalizers(**{"$deleteFromPrimitiveList/finalizers": ["1", "9"]}) == ["2", "3"]
    assert finalizers(**{"$setElementOrder/finalizers": ["3", "1"]}) == ["2", "3", "1"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"containers": [{"x": 1}]}, "map: map[x:1] does not contain declared merge key: name"),
        (
            {"containers": [{"$patch": "merge"}]},
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"containers": [{"$patch": 1}]},
            "unknown patch type: %!s(int64=1) in map: map[$patch:1]",
        ),
        ({"nodeSelector": {"$patch": "x"}}, "unknown patch type: x in map: map[$patch:x]"),
        (
            {"volumes": ["x"]},
            "list element types are not identical: [[map[emptyDir:map[] name:v]] [x]]",
        ),
        ({ORDER: {}}, "expected a []interface {}, but received a map[string]interface {}"),
        ({ORDER: ["a"]}, "value for key 0 is not a map"),
        (
            {ORDER: [{"name": "a"}], "containers": [{"name": "b"}]},
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n"
            "[map[name:a]]\n",
        ),
        (
            {"$setElementOrder/x": []},
            'unable to find api field in struct PodSpec for the json field "x"',
        ),
    ],
)
def test_patches_that_make_no_sense(change: Any, told: str) -> None:
    """The server has no better answer than 500."""
    assert refused(change) == (500, told)


def test_what_is_no_patch() -> None:
    """A list is refused, null changes nothing."""
    with pytest.raises(failure.ApiFailure, match="cannot unmarshal array"):
        merged([])
    assert merged(None) == OBJ
