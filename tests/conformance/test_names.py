"""Names and metadata of objects of all kinds: what they may be, and what an update may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import wire

Obj = dict[str, Any]
GROUP = "names.conformance.example.com"
RBAC = "rbac.authorization.k8s.io/v1"
ENDS = "and must start and end with an alphanumeric character"
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {ENDS} (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{ENDS} (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {ENDS} (e.g. 'MyName',  or "
    "'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
LONG = "x" * 254
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}
STANDARD = "name is neither a standard finalizer name nor is it fully qualified"


def told(answer: wire.Answer) -> list[tuple[str, str]]:
    """The fields that an answer complains of, and what it says of them."""
    if answer.code in (200, 201):
        return []
    assert answer.code == 422, answer.text
    return [(cause["field"], cause["message"]) for cause in answer.body["details"]["causes"]]


def named(name: str, *rules: str) -> list[tuple[str, str]]:
    """What is said of a name that breaks these rules."""
    return [("metadata.name", f'Invalid value: "{name}": {rule}') for rule in rules]


@pytest.fixture(scope="module")
def customs(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """The path of the objects of a custom kind."""
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = {"metadata": {"name": f"things.{GROUP}"}, "spec": spec}
    assert server.post(definitions, body).code == 201
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/things"
    try:
        server.until(path, lambda found: True)
        yield path
    finally:
        server.delete(f"{definitions}/things.{GROUP}")


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("a.b-c", []),
        ("1a", []),
        ("A", [SUBDOMAIN]),
        ("a_b", [SUBDOMAIN]),
        ("-a", [SUBDOMAIN]),
        ("a/b", [SUBDOMAIN]),
        ("..", [SUBDOMAIN]),
        (LONG, ["must be no more than 253 characters"]),
    ],
)
def test_most_names_are_subdomains(
    server: wire.Server, shared_ns: str, customs: str, name: str, rules: list[str]
) -> None:
    """Names of config maps, secrets, custom objects and most others are DNS subdomains."""
    core = f"/api/v1/namespaces/{shared_ns}"
    for path in (f"{core}/configmaps", f"{core}/secrets", f"{core}/serviceaccounts", customs):
        body = wire.configmap(name)
        if path == customs:
            body = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}}
        elif not path.endswith("configmaps"):
            body = {"metadata": {"name": name}}
        assert told(server.post(path, body, dryRun="All")) == named(name, *rules)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("1a", []),
        ("A", [LABEL]),
        ("A.b", [LABEL]),
        ("a.b", ["must not contain dots"]),
        ("x" * 64, ["must be no more than 63 characters"]),
        ("X" * 64, ["must be no more than 63 characters", LABEL]),
    ],
)
def test_names_of_services_are_labels(
    server: wire.Server, shared_ns: str, name: str, rules: list[str]
) -> None:
    """Names of services, and of namespaces, have no dots and at most 63 characters."""
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    answer = server.post(f"/api/v1/namespaces/{shared_ns}/services", body, dryRun="All")
    assert told(answer) == named(name, *rules)
    if len(name) > 63 or not rules:
        return
    answer = server.post("/api/v1/namespaces", {"metadata": {"name": name}}, dryRun="All")
    assert told(answer) == named(name, *rules)


def test_names_that_become_labels(server: wire.Server, shared_ns: str) -> None:
    """Stateful sets, jobs and cron jobs leave room for what is made of their names."""
    pod = {"containers": [{"name": "c", "image": "n"}]}
    ending = {"template": {"spec": {**pod, "restartPolicy": "Never"}}}
    name = "x" * 64
    body: Obj = {"metadata": {"name": name}, "spec": ending}
    jobs = f"/apis/batch/v1/namespaces/{shared_ns}/jobs"
    assert told(server.post(jobs, body, dryRun="All")) == [
        ("spec.template.labels", f'Invalid value: "{name}": must be no more than 63 bytes')
    ]
    name = "x" * 53
    spec = {"schedule": "@daily", "jobTemplate": {"spec": ending}}
    body = {"metadata": {"name": name}, "spec": spec}
    path = f"/apis/batch/v1/namespaces/{shared_ns}/cronjobs"
    limited = named(name, "must be no more than 52 characters")
    assert told(server.post(path, body, dryRun="All")) == limited
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = f"/apis/apps/v1/namespaces/{shared_ns}/statefulsets"
    body = {"metadata": {"name": "a.b"}, "spec": spec}
    expected = named("a.b", "must not contain dots")
    assert told(server.post(path, body, dryRun="All")) == expected


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("system:A_b", []),
        (LONG, []),
        ("a/b", ["may not contain '/'"]),
        ("a%b", ["may not contain '%'"]),
        ("..", ["may not be '..'"]),
    ],
)
def test_names_of_roles_are_parts_of_paths(
    server: wire.Server, shared_ns: str, name: str, rules: list[str]
) -> None:
    """Names of roles, bindings and budgets may be whatever can stand between slashes."""
    for group, plural in ((RBAC, "roles"), ("policy/v1", "poddisruptionbudgets")):
        path = f"/apis/{group}/namespaces/{shared_ns}/{plural}"
        answer = server.post(path, {"metadata": {"name": name}}, dryRun="All")
        assert told(answer) == named(name, *rules)


def test_generated_names(server: wire.Server, shared_ns: str, customs: str) -> None:
    """A name is made of a prefix, which is shortened, and checked as what it is."""
    path = wire.configmaps(shared_ns)

    def post(prefix: str) -> wire.Answer:
        return server.post(path, {"metadata": {"generateName": prefix}}, dryRun="All")

    made = post("a-").body["metadata"]
    assert made["name"].startswith("a-")
    assert len(made["name"]) == 7
    assert len(post("x" * 70).body["metadata"]["name"]) == 63
    wrong = post("A")
    name = wrong.body["details"]["name"]
    assert told(wrong) == [
        ("metadata.generateName", f'Invalid value: "A": {SUBDOMAIN}'),
        ("metadata.name", f'Invalid value: "{name}": {SUBDOMAIN}'),
    ]
    missing = [("metadata.name", "Required value: name or generateName is required")]
    for place in (path, customs):
        head = {"apiVersion": f"{GROUP}/v1", "kind": "Thing"} if place == customs else {}
        assert told(server.post(place, {**head, "metadata": {}}, dryRun="All")) == missing


@pytest.mark.parametrize(
    ("labels", "rules"),
    [
        ({"a b": "c"}, [("a b", f"name part {QUALIFIED}")]),
        ({"a": "b c"}, [("b c", VALUE)]),
        ({"a": "x" * 64}, [("x" * 64, "must be no more than 63 bytes")]),
        ({"x" * 64: "a"}, [("x" * 64, "name part must be no more than 63 bytes")]),
        ({"/a": "b"}, [("/a", "prefix part must be non-empty")]),
        (
            {"a/": "b"},
            [("a/", "name part must be non-empty"), ("a/", f"name part {QUALIFIED}")],
        ),
        ({"A.b/c": "d"}, [("A.b/c", f"prefix part {SUBDOMAIN}")]),
        ({f"{LONG}/a": "b"}, [(f"{LONG}/a", "prefix part must be no more than 253 bytes")]),
        (
            {"a/b/c": "d"},
            [
                (
                    "a/b/c",
                    f"a valid label key {QUALIFIED} with an optional DNS subdomain prefix and "
                    "'/' (e.g. 'example.com/MyName')",
                )
            ],
        ),
        ({"a.b/C_d": ""}, []),
    ],
)
def test_labels(
    server: wire.Server,
    shared_ns: str,
    customs: str,
    labels: dict[str, str],
    rules: list[tuple[str, str]],
) -> None:
    """Keys are qualified names, values short texts; of custom objects as well."""
    expected = [("metadata.labels", f'Invalid value: "{shown}": {rule}') for shown, rule in rules]
    metadata = {"name": "x", "labels": labels}
    answer = server.post(wire.configmaps(shared_ns), {"metadata": metadata}, dryRun="All")
    assert told(answer) == expected
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": metadata}
    assert told(server.post(customs, body, dryRun="All")) == expected


def test_annotations(server: wire.Server, shared_ns: str) -> None:
    """Keys are qualified names in any case, and all together has 256 KiB."""

    def post(annotations: dict[str, str]) -> list[tuple[str, str]]:
        body = {"metadata": {"name": "x", "annotations": annotations}}
        return told(server.post(wire.configmaps(shared_ns), body, dryRun="All"))

    field = "metadata.annotations"
    assert post({"A.B/c": "any thing", "a": "x" * 262129}) == []
    assert post({"a b": "c"}) == [(field, f'Invalid value: "a b": name part {QUALIFIED}')]
    assert post({"a": "x" * 2**18}) == [(field, "Too long: may not be more than 262144 bytes")]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"finalizers": ["a.b/c", "foregroundDeletion"]}, []),
        (
            {"finalizers": ["plain"]},
            [("metadata.finalizers[0]", f'Invalid value: "plain": {STANDARD}')],
        ),
        (
            {"finalizers": ["A/b"]},
            [("metadata.finalizers", f'Invalid value: "A/b": prefix part {SUBDOMAIN}')],
        ),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [
                (
                    "metadata.finalizers",
                    'Invalid value: ["orphan","foregroundDeletion"]: '
                    "finalizer orphan and foregroundDeletion cannot be both set",
                )
            ],
        ),
        (
            {"ownerReferences": [{}]},
            [
                (f"metadata.ownerReferences[0].{key}", "Required value: must not be empty")
                for key in ("apiVersion", "kind", "name", "uid")
            ],
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]},
            [
                (
                    "metadata.ownerReferences[0].apiVersion",
                    'Invalid value: "a/b/c": must be <group>/<version> or <version>',
                )
            ],
        ),
        (
            {"ownerReferences": [{**OWNER, "kind": "Event"}]},
            [
                (
                    "metadata.ownerReferences[0]",
                    'Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: '
                    "/v1, Kind=Event is disallowed from being an owner",
                )
            ],
        ),
    ],
)
def test_finalizers_and_owners(
    server: wire.Server, shared_ns: str, customs: str, metadata: Obj, expected: Any
) -> None:
    """Finalizers are qualified, owners are complete; of custom objects as well."""
    body: Obj = {"metadata": {"name": "x", **metadata}}
    answer = server.post(wire.configmaps(shared_ns), body, dryRun="All")
    assert told(answer) == expected
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", **body}
    # Of custom objects anybody may make up finalizers.
    expected = [one for one in expected if not one[1].endswith(STANDARD)]
    assert told(server.post(customs, body, dryRun="All")) == expected


def test_one_controller(server: wire.Server, shared_ns: str) -> None:
    """An object has at most one owner that controls it."""
    owners = [{**OWNER, "uid": uid, "controller": True} for uid in ("u", "v")]
    body = {"metadata": {"name": "x", "ownerReferences": owners}}
    ((field, message),) = told(server.post(wire.configmaps(shared_ns), body, dryRun="All"))
    assert field == "metadata.ownerReferences"
    assert message.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for '
        "Pod/x and Pod/x"
    )


def test_what_an_update_may_not_change(server: wire.Server, ns: str) -> None:
    """Some fields are kept whatever an update says, of others a change is refused."""
    path = wire.configmaps(ns)
    live = server.post(path, wire.configmap("x", {"a": "b"})).body

    def put(**meta: Any) -> wire.Answer:
        body = {**live, "metadata": {**live["metadata"], **meta}}
        return server.put(f"{path}/x", body, dryRun="All")

    time = "2020-01-01T00:00:00Z"
    kept = put(creationTimestamp=time, generation=9).body["metadata"]
    assert kept["creationTimestamp"] == live["metadata"]["creationTimestamp"]
    assert "generation" not in kept
    assert put(uid=None).body["metadata"]["uid"] == live["metadata"]["uid"]
    immutable = "field is immutable"
    assert told(put(deletionTimestamp=time)) == [
        ("metadata.deletionTimestamp", f'Invalid value: "{time}": {immutable}')
    ]
    assert told(put(deletionGracePeriodSeconds=5)) == [
        ("metadata.deletionGracePeriodSeconds", f"Invalid value: 5: {immutable}")
    ]
    assert put(generateName="a-").body["metadata"]["generateName"] == "a-"
    assert put(labels={"a b": "c"}).code == 422
    assert put(resourceVersion="0").code == 200
    answer = put(resourceVersion="abc")
    assert answer.code == 500
    assert answer.body["message"] == 'strconv.ParseUint: parsing "abc": invalid syntax'
    answer = put(uid="other")
    assert answer.code == 409
    assert answer.body["message"].endswith(
        f"UID in precondition: other, UID in object meta: {live['metadata']['uid']}"
    )


def test_no_new_finalizers_when_deleted(server: wire.Server, ns: str) -> None:
    """An object that waits for its finalizers gets no further ones."""
    path = wire.configmaps(ns)
    server.post(path, wire.configmap("x", finalizers=["a.b/c"]))
    server.delete(f"{path}/x")
    answer = server.patch(f"{path}/x", {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}})
    ((field, message),) = told(answer)
    assert field == "metadata.finalizers"
    assert message == (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"a.b/d"}'
    )
    assert server.patch(f"{path}/x", {"metadata": {"finalizers": None}}).code == 200
    server.until_gone(f"{path}/x")
