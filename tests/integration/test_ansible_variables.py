"""What Ansible really sees of an object: the variables as a role reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_lab import Lab, dump, make_object

from ansible_operator import settings, watches

WHOLE = "_cache_example_com_memcached"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab of this test's own."""
    return Lab(tmp_path, settings.AnsibleSettings(runner_dir=tmp_path / "root"))


def seen(lab: Lab, spec: Any, expression: str, **watch: Any) -> Any:
    """The value of a Jinja expression in a run for an object with this spec."""
    obj = make_object(spec, annotations={"brace": "{{ 6 * 7 }}"})
    obj["status"] = {"conditions": [{"message": "boom {{ undefined_thing }} {% raw %}"}]}
    obj["data"] = {"key": "{{ lookup('pipe', 'touch " + str(lab.path / "owned") + "') }}"}
    result = lab.run(lab.tasks(dump(lab.path, expression)), obj, **watch)
    assert result.succeeded, result.message
    assert not (lab.path / "owned").exists()
    return json.loads(lab.read("dump")), result


def test_compatible_variables(lab: Lab) -> None:
    """Converted keys, meta, whole object, watch vars; braces outside of the spec stay literal."""
    spec = {
        "newParameter": "{{ 1 + 1 }}",
        "": "empty",
        "deepMap": {"": {"innerKey": 1}},
        "ansible_python_interpreter": "/bin/false",
        "ansibleConnection": "ssh",
        "ansible_become": True,
        "inventory_hostname": "evil",
        "groups": "spec groups",
        "ansible_operator_meta": {"name": "evil"},
        "overridden": "spec",
        "fooBar": 1,
        "foo_bar": 2,
    }
    value, result = seen(
        lab,
        spec,
        "{'new': new_parameter, 'deep': deep_map, 'meta': meta, 'over': overridden, 'foo': foo_bar,"
        f" 'note': {WHOLE}.metadata.annotations.brace,"
        f" 'state': {WHOLE}.status.conditions[0].message,"
        f" 'data': {WHOLE}.data.key,"
        f" 'raw': {WHOLE}_spec, 'host': inventory_hostname}}",
        vars={"meta": "{{ ansible_operator_meta }}", "overridden": "watch"},
    )
    assert value == {
        "new": 2,
        "deep": {"": {"inner_key": 1}},
        "meta": {"name": "one", "namespace": "default"},
        "over": "watch",
        "foo": 2,
        "note": "{{ 6 * 7 }}",
        "state": "boom {{ undefined_thing }} {% raw %}",
        "data": "{{ lookup('pipe', 'touch " + str(lab.path / "owned") + "') }}",
        "raw": {**spec, "newParameter": 2},
        "host": "localhost",
    }
    dropped = {note.split()[0] for note in result.notes if "connection variables" in note}
    assert dropped == {
        "spec.ansible_python_interpreter",
        "spec.ansibleConnection",
        "spec.ansible_become",
        "spec.inventory_hostname",
    }


def test_unsafe_variables(lab: Lab) -> None:
    """With markUnsafe nothing of an object is a template, and no mark of its own breaks that."""
    spec = {
        "aa": "{{ lookup('pipe', 'touch owned') }} {% raw %} {# x #}",
        "labels": {"summary": "{{ $labels.instance }}"},
        "evil": {"__ansible_unsafe": 5, "x": "{{ 1 + 1 }}"},
        "vault": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n00"},
        "__ansible_vault": "x",
        "__ansibleUnsafe": 7,
    }
    value, result = seen(
        lab,
        spec,
        f"{{'aa': aa, 'labels': labels, 'evil': evil, 'vault': vault, 'raw': {WHOLE}.spec,"
        " 'meta': meta}",
        mark_unsafe=True,
        vars={"meta": "{{ ansible_operator_meta.name }}"},
    )
    assert value == {
        "aa": spec["aa"],
        "labels": spec["labels"],
        "evil": {"x": "{{ 1 + 1 }}"},
        "vault": {},
        "raw": {
            "aa": spec["aa"],
            "labels": spec["labels"],
            "evil": {"x": "{{ 1 + 1 }}"},
            "vault": {},
            "__ansibleUnsafe": 7,
        },
        "meta": "one",
    }
    assert sum("Ansible's own marks" in note for note in result.notes) == 4


def test_keys_that_are_no_identifiers(lab: Lab) -> None:
    """With conversion off odd keys do not fail the run, and the spec variable has them."""
    spec = {"my-key": 1, "1abc": 2, "dotted.key": 3, "class": 4, "größe": 5, "": 6, "camelCase": 7}
    value, _ = seen(lab, spec, f"{{'spec': {WHOLE}_spec, 'camel': camelCase}}",
                    snake_case_parameters=False)  # fmt: skip
    assert value == {"spec": spec, "camel": 7}


def test_object_without_spec_and_variables_do_not_survive_a_run(lab: Lab) -> None:
    """A removed key is gone in the next run, also when no spec is left."""
    target = lab.tasks(
        dump(lab.path, "{'x': left_over | default('none'), 'spec': " + WHOLE + "_spec}")
    )
    by = lab.runner()
    assert lab.run(target, make_object({"leftOver": 1}), by=by).succeeded
    assert json.loads(lab.read("dump")) == {"x": 1, "spec": {"leftOver": 1}}
    assert lab.run(target, make_object(None), by=by).succeeded
    assert json.loads(lab.read("dump")) == {"x": "none", "spec": {}}


def test_finalizer_targets(lab: Lab) -> None:
    """A finalizer runs its role, its playbook, or with only vars the main target with them."""
    main = lab.tasks(dump(lab.path, "['main', mode | default('')]"))
    role = lab.role("cleanup", [dump(lab.path, "['role', mode]")])
    playbook = lab.tasks(dump(lab.path, "['playbook', mode]"))
    by = lab.runner(skip_facts=True)
    for target, ran in ((None, "main"), (role, "role"), (playbook, "playbook")):
        finalizer = watches.Finalizer("x.example.com/f", target, {"mode": "finalizer"})
        keys: dict[str, Any] = {"vars": {"mode": "watch"}, "finalizer": finalizer}
        result = lab.run(main, by=by, finalizing=True, **keys)
        assert result.succeeded, result.message
        assert json.loads(lab.read("dump")) == [ran, "finalizer"]
    assert lab.run(main, by=by, **keys).succeeded
    assert json.loads(lab.read("dump")) == ["main", "watch"]


@pytest.mark.parametrize("as_list", [False, True])
def test_depth_does_not_undo_the_marks(lab: Lab, as_list: bool) -> None:
    """Depth at which Ansible's decoder gives up does not turn text of an object into templates."""
    deep: Any = "x"
    for _ in range(900):
        deep = [deep] if as_list else {"a": deep}
    spec = {"deep": deep, "probe": "{{ 6 * 7 }}"}
    obj = make_object(spec)
    result = lab.run(lab.tasks(dump(lab.path, "probe")), obj, mark_unsafe=True)
    assert result.succeeded, result.message
    assert json.loads(lab.read("dump")) == "{{ 6 * 7 }}"
    assert "levels deep" in "".join(result.notes)
