"""What is said of bodies that do not fit: unknown and repeated fields, wrong types, no JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import wire

Obj = dict[str, Any]
GROUP = "fields.conformance.example.com"
KIND, PLURAL = "Field", "fields"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
YAML = "application/yaml"
MODES: Mapping[str, Obj] = {
    "strict": {"fieldValidation": "Strict"},
    "warn": {"fieldValidation": "Warn"},
    "default": {},
    "ignore": {"fieldValidation": "Ignore"},
}


@pytest.fixture(scope="module")
def fields(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """The path of custom resources with a few fields in their spec."""
    text = {"type": "string"}
    inner = {"type": "object", "properties": {"a": text, "list": {"type": "array", "items": text}}}
    spec = {"type": "object", "properties": {"text": text, "inner": inner, "number": _INTEGER}}
    schema = {"type": "object", "properties": {"spec": spec}}
    body = wire.crd(GROUP, schema)
    body["metadata"]["name"] = f"{PLURAL}.{GROUP}"
    body["spec"]["names"] = {"plural": PLURAL, "singular": "field", "kind": KIND}
    answer = server.post(CRDS, body)
    assert answer.code == 201, answer.text
    server.until(f"{CRDS}/{PLURAL}.{GROUP}", wire.established)
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/{PLURAL}"
    server.until(path, lambda _: True)
    yield path
    server.delete(f"{CRDS}/{PLURAL}.{GROUP}")
    server.until_gone(f"{CRDS}/{PLURAL}.{GROUP}")


_INTEGER = {"type": "integer"}


@pytest.fixture(params=["built-in", "custom"])
def kind(request: pytest.FixtureRequest, shared_ns: str) -> tuple[str, Obj]:
    """A collection and an object without a name: once a config map, once a custom resource."""
    if request.param == "built-in":
        return wire.configmaps(shared_ns), wire.configmap("")
    path: str = request.getfixturevalue("fields")
    return path, {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {}}


def field(name: str) -> Obj:
    """A custom resource with this name."""
    return {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": name}}


def prefix(obj: Obj) -> str:
    """How the message begins when a body cannot be read."""
    return f'{obj["kind"]} in version "v1" cannot be handled as a {obj["kind"]}: '


def refused(answer: wire.Answer) -> str:
    """The message of a 400."""
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest"), answer.text
    message: str = answer.body["message"]
    return message


def unpatched(answer: wire.Answer) -> str:
    """What is wrong with the object that a patch made; before it stands that object or patch."""
    body = answer.body
    assert (answer.code, body["reason"]) == (422, "Invalid"), answer.text
    assert body["message"].startswith(' "" is invalid: patch: Invalid value: ')
    assert body["details"].keys() == {"causes"}
    (cause,) = body["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "patch")
    assert body["message"] == f' "" is invalid: patch: {cause["message"]}'
    _, told = json.JSONDecoder().raw_decode(cause["message"].removeprefix("Invalid value: "))
    message: str = cause["message"].removeprefix("Invalid value: ")[told:].removeprefix(": ")
    return message


def warned(answer: wire.Answer, *texts: str) -> None:
    """The answer is a success and warns of nothing but this."""
    assert answer.code in (200, 201), answer.text
    quoted = [f'"{text}"'.replace('d "', 'd \\"').replace('""', '\\""') for text in texts]
    assert [text.rstrip(",") for text in answer.warnings] == quoted


# -- unknown and repeated fields ----------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_unknown_fields(
    server: wire.Server, kind: tuple[str, Obj], mode: str, method: str, unique: str
) -> None:
    """Strict refuses them, Warn (which is the default) warns of them, Ignore says nothing."""
    path, obj = kind
    body = {**obj, "metadata": {"name": unique, "zed": 1}, "foo": {"bar": 1}}
    if method == "PUT":
        made = server.post(path, {**obj, "metadata": {"name": unique}}).body
        path = f"{path}/{unique}"
        body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    answer = server.call(method, path, body, **MODES[mode])
    told = ('unknown field "metadata.zed"', 'unknown field "foo"')
    if mode == "strict":
        assert refused(answer) == f"{prefix(obj)}strict decoding error: {', '.join(told)}"
        return
    warned(answer, *(told if mode != "ignore" else ()))
    assert "foo" not in answer.body
    assert "zed" not in answer.body["metadata"]


@pytest.mark.parametrize("mode", MODES)
def test_repeated_fields(
    server: wire.Server, kind: tuple[str, Obj], mode: str, unique: str
) -> None:
    """They are told in the order of the text, before unknown ones where both are found apart."""
    path, obj = kind
    labels = '"labels":{"a":"1","a":"2"}'
    body = (
        f'{{"apiVersion":"{obj["apiVersion"]}","kind":"{obj["kind"]}","kind":"{obj["kind"]}",'
        f'"metadata":{{"name":"{unique}",{labels},{labels}}},"foo":1}}'
    )
    answer = server.post(path, body, **MODES[mode])
    told = (
        'duplicate field "kind"',
        'duplicate field "metadata.labels.a"',
        'duplicate field "metadata.labels"',
        'unknown field "foo"',
    )
    if mode == "strict":
        assert refused(answer) == f"{prefix(obj)}strict decoding error: {', '.join(told)}"
        return
    warned(answer, *(told if mode != "ignore" else ()))
    assert answer.body["metadata"]["labels"] == {"a": "2"}


def test_deep_unknown_fields_of_built_in_objects(server: wire.Server, shared_ns: str) -> None:
    """They are told in the order of the text, and a name in other letters is another name."""
    container = {"name": "x", "image": "y", "foo": 1, "ports": [{"containerPort": 80, "x": 1}]}
    body = deployment(**container) | {"Spec": {}}
    answer = server.post(deployments(shared_ns), body, dryRun="All")
    at = "spec.template.spec.containers[0]"
    unknown = (f"{at}.foo", f"{at}.ports[0].x", "Spec")
    warned(answer, *(f'unknown field "{path}"' for path in unknown))


def test_deep_unknown_fields_of_custom_objects(server: wire.Server, fields: str) -> None:
    """They are told in the order of their names, those of the metadata before the others."""
    spec = {"zz": 1, "inner": {"z": {"deep": 1}, "a": "x"}, "aa": 1}
    owner = {"apiVersion": "v1", "kind": "x", "name": "y", "uid": "z", "more": 1}
    meta = {"name": "a", "zed": 1, "ownerReferences": [owner]}
    body = {**field("a"), "spec": spec, "metadata": meta}
    answer = server.post(fields, body, dryRun="All")
    unknown = (
        "metadata.ownerReferences[0].more",
        "metadata.zed",
        "spec.aa",
        "spec.inner.z",
        "spec.zz",
    )
    warned(answer, *(f'unknown field "{path}"' for path in unknown))
    assert answer.body["spec"] == {"inner": {"a": "x"}}


def test_types_are_wrong_before_fields_are_unknown(server: wire.Server, shared_ns: str) -> None:
    """A strict request with both is told of the type only."""
    body = wire.configmap("a") | {"foo": 1, "data": {"a": 1}}
    answer = server.post(wire.configmaps(shared_ns), body, fieldValidation="Strict")
    assert "unknown field" not in refused(answer)


PATCHES = {
    wire.MERGE: ('{"foo":1,"metadata":{"zed":1,"labels":{"a":"1","a":"2"}}}', ""),
    wire.STRATEGIC: ('{"foo":1,"metadata":{"zed":1,"labels":{"a":"1","a":"2"}}}', ""),
    wire.JSON_PATCH: (
        '[{"op":"add","op":"add","path":"/metadata/labels","value":{"b":"1"}},'
        '{"op":"add","path":"/foo","value":1,"more":1},'
        '{"op":"add","path":"/metadata/zed","value":1}]',
        'json patch duplicate field "[0].op", json patch unknown field "[1].more", ',
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("media_type", PATCHES)
def test_patches(
    server: wire.Server, kind: tuple[str, Obj], media_type: str, mode: str, unique: str
) -> None:
    """What is wrong with the patch is told before what is wrong with what it made."""
    path, obj = kind
    server.post(path, {**obj, "metadata": {"name": unique}})
    text, told = PATCHES[media_type]
    answer = server.patch(f"{path}/{unique}", text, content_type=media_type, **MODES[mode])
    if media_type == wire.STRATEGIC and obj["kind"] == KIND:
        assert (answer.code, answer.body["reason"]) == (415, "UnsupportedMediaType")
        return
    unknown = ['unknown field "foo"', 'unknown field "metadata.zed"']
    told += ", ".join(reversed(unknown) if obj["kind"] == KIND else unknown)
    if media_type != wire.JSON_PATCH:
        told = f'duplicate field "metadata.labels.a", {told}'
    if mode == "strict":
        assert unpatched(answer) == f"strict decoding error: {told}"
        return
    warned(answer, *(told.split(", ") if mode != "ignore" else ()))
    assert "foo" not in answer.body


@pytest.mark.parametrize("mode", MODES)
def test_repeated_fields_of_an_apply(
    server: wire.Server, kind: tuple[str, Obj], mode: str, unique: str
) -> None:
    """Keys that stand in YAML again are told with their line."""
    path, obj = kind
    text = (
        f"apiVersion: {obj['apiVersion']}\nkind: {obj['kind']}\n"
        f"metadata:\n  name: {unique}\n  labels: {{a: '1', a: '2'}}\n"
    )
    answer = server.apply(f"{path}/{unique}", text, manager="me", **MODES[mode])
    told = 'line 5: key "a" already set in map'
    if mode == "strict":
        assert refused(answer) == (
            "error strict decoding patch: error converting YAML to JSON: "
            f"yaml: unmarshal errors:\n  {told}"
        )
        return
    warned_of = [text.replace('\\"', '"').strip('"') for text in answer.warnings]
    assert (answer.code, warned_of) == (201, [told] if mode != "ignore" else [])


def test_repeated_fields_of_yaml(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """All of them are one error and many warnings; the unknown ones follow."""
    path, obj = kind
    text = (
        f"apiVersion: {obj['apiVersion']}\nkind: {obj['kind']}\n"
        f"metadata:\n  name: {unique}\n  labels: {{a: '1', a: '2'}}\nfoo: 1\nfoo: 2\n"
    )
    answer = server.call("POST", path, text, content_type=YAML, fieldValidation="Strict")
    lines = ['line 5: key "a" already set in map', 'line 7: key "foo" already set in map']
    told = "\n  ".join(("yaml: unmarshal errors:", *lines))
    wanted = f'{prefix(obj)}strict decoding error: {told}, unknown field "foo"'
    assert refused(answer) == wanted
    answer = server.call("POST", path, text, content_type=YAML)
    warned_of = [text.rstrip(",").strip('"').replace('\\"', '"') for text in answer.warnings]
    assert warned_of[:2] == lines
    assert (answer.code, len(warned_of)) == (201, 3)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_other_modes_are_refused(server: wire.Server, shared_ns: str, method: str) -> None:
    """There are three, and the names of the options tell the request."""
    path = wire.configmaps(shared_ns, "" if method == "POST" else "none")
    content_type = wire.MERGE if method == "PATCH" else wire.JSON
    body = wire.configmap("none")
    answer = server.call(method, path, body, content_type=content_type, fieldValidation="strict")
    kind = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}[method]
    told = 'Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"'
    assert answer.code == 422
    message = f'{kind}.meta.k8s.io "" is invalid: fieldValidation: {told}'
    assert answer.body["message"] == message


# -- wrong types --------------------------------------------------------------------------------


def deployments(namespace: str, name: str = "") -> str:
    """The path of the deployments of a namespace, or of one of them."""
    base = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    return f"{base}/{name}" if name else base


def deployment(**container: Any) -> Obj:
    """A deployment without replicas, and a container with these fields."""
    pod = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "x", "image": "y", **container}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "types"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": pod},
    }


C = "spec.template.spec.containers"
QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
CONTAINERS: tuple[tuple[Obj, str], ...] = (
    ({"image": 5}, f"number into Go struct field Container.{C}.image of type string"),
    ({"image": True}, f"bool into Go struct field Container.{C}.image of type string"),
    ({"ports": "x"}, f"string into Go struct field Container.{C}.ports of type []v1.ContainerPort"),
    ({"ports": ["x"]}, f"string into Go struct field Container.{C}.ports of type v1.ContainerPort"),
    (
        {"ports": [{"containerPort": "80"}]},
        f"string into Go struct field ContainerPort.{C}.ports.containerPort of type int32",
    ),
    ({"env": {"a": "b"}}, f"object into Go struct field Container.{C}.env of type []v1.EnvVar"),
    ({"command": "x"}, f"string into Go struct field Container.{C}.command of type []string"),
    ({"command": [1]}, f"number into Go struct field Container.{C}.command of type string"),
    (
        {"resources": "x"},
        f"string into Go struct field Container.{C}.resources of type v1.ResourceRequirements",
    ),
    (
        {"resources": {"limits": []}},
        f"array into Go struct field ResourceRequirements.{C}.resources.limits"
        " of type v1.ResourceList",
    ),
    (
        {"imagePullPolicy": 5},
        f"number into Go struct field Container.{C}.imagePullPolicy of type v1.PullPolicy",
    ),
    ({"stdin": "yes"}, f"string into Go struct field Container.{C}.stdin of type bool"),
    (
        {"livenessProbe": {"httpGet": {"port": True}}},
        f"bool into Go struct field HTTPGetAction.{C}.livenessProbe.ProbeHandler.httpGet.port"
        " of type int32",
    ),
    (
        {"securityContext": {"runAsUser": 1.5}},
        f"number 1.5 into Go struct field SecurityContext.{C}.securityContext.runAsUser"
        " of type int64",
    ),
)


def test_wrong_types_in_a_deployment(server: wire.Server, shared_ns: str) -> None:
    """The message is that of the server's JSON decoder, with its types."""
    path = deployments(shared_ns)
    begin = prefix(deployment())
    for container, told in CONTAINERS:
        answer = server.post(path, deployment(**container), dryRun="All")
        assert refused(answer) == f"{begin}json: cannot unmarshal {told}", container
    answer = server.post(path, deployment(resources={"limits": {"cpu": "abc"}}))
    assert refused(answer) == begin + QUANTITY
    body = deployment()
    for value, shown in (("3", "string"), (3_000_000_000, "number 3000000000"), ([1], "array")):
        body["spec"]["replicas"] = value
        told = f"{shown} into Go struct field DeploymentSpec.spec.replicas of type int32"
        answer = server.post(path, body)
        assert refused(answer) == f"{begin}json: cannot unmarshal {told}"


TIME = 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
OF_META = "into Go struct field ObjectMeta."
METADATA: tuple[tuple[Any, str], ...] = (
    ({"name": 5}, f"json: cannot unmarshal number {OF_META}metadata.name of type string"),
    (
        {"labels": {"a": 1}},
        f"json: cannot unmarshal number {OF_META}metadata.labels of type string",
    ),
    (
        {"labels": []},
        f"json: cannot unmarshal array {OF_META}metadata.labels of type map[string]string",
    ),
    (
        {"finalizers": "x"},
        f"json: cannot unmarshal string {OF_META}metadata.finalizers of type []string",
    ),
    (
        {"generation": "1"},
        f"json: cannot unmarshal string {OF_META}metadata.generation of type int64",
    ),
    ({"creationTimestamp": "x"}, TIME),
    (
        {"creationTimestamp": 5},
        f"json: cannot unmarshal number {OF_META}metadata.creationTimestamp of type string",
    ),
    (
        {"ownerReferences": [{"uid": 1}]},
        "json: cannot unmarshal number into Go struct field "
        "OwnerReference.metadata.ownerReferences.uid of type types.UID",
    ),
)


def test_wrong_types_in_metadata(server: wire.Server, kind: tuple[str, Obj]) -> None:
    """Of custom resources the metadata are read on their own, so paths begin there."""
    path, obj = kind
    custom = obj["kind"] == KIND
    for meta, told in METADATA:
        answer = server.post(path, {**obj, "metadata": {"name": "a", **meta}})
        wanted = told.replace(".metadata.", ".") if custom else told
        assert refused(answer) == prefix(obj) + wanted
    answer = server.post(path, {**obj, "metadata": "x"})
    place = "value" if custom else "struct field ConfigMap.metadata"
    told = f"json: cannot unmarshal string into Go {place} of type v1.ObjectMeta"
    assert refused(answer) == prefix(obj) + told


def test_wrong_types_in_a_config_map(server: wire.Server, shared_ns: str) -> None:
    """The first one in the text is told; base64 is read."""
    path, obj = wire.configmaps(shared_ns), wire.configmap("a")
    of = "into Go struct field ConfigMap."
    for fields, told in (
        ({"data": [1]}, f"json: cannot unmarshal array {of}data of type map[string]string"),
        ({"data": {"a": {}}}, f"json: cannot unmarshal object {of}data of type string"),
        ({"binaryData": {"a": 1}}, f"json: cannot unmarshal number {of}binaryData of type []uint8"),
        ({"binaryData": {"a": "!!"}}, "illegal base64 data at input byte 0"),
        ({"immutable": "x"}, f"json: cannot unmarshal string {of}immutable of type bool"),
        (
            {"immutable": "x", "data": {"a": 1}},
            f"json: cannot unmarshal string {of}immutable of type bool",
        ),
    ):
        body = {key: value for key, value in obj.items() if key != "data"} | fields
        assert refused(server.post(path, body)) == prefix(obj) + told, fields


def test_wrong_types_in_custom_objects(server: wire.Server, fields: str) -> None:
    """They are the schema's matter: 422."""
    answer = server.post(fields, {**field("a"), "spec": {"text": 1}})
    told = 'spec.text: Invalid value: "integer": spec.text in body must be of type string: '
    assert answer.code == 422
    assert answer.body["message"] == f'{KIND}.{GROUP} "a" is invalid: {told}"integer"'


def test_wrong_types_after_patches(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """The object that a patch made is read as a body is."""
    path, obj = kind
    server.post(path, {**obj, "metadata": {"name": unique}})
    at = f"{path}/{unique}"
    place = "labels" if obj["kind"] == KIND else "metadata.labels"
    told = f"json: cannot unmarshal number {OF_META}{place} of type string"
    assert unpatched(server.patch(at, {"metadata": {"labels": {"a": 1}}})) == told
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"a": 1}}]
    assert unpatched(server.patch(at, operations, content_type=wire.JSON_PATCH)) == told


def test_wrong_types_in_strategic_patches(server: wire.Server, shared_ns: str, unique: str) -> None:
    """The patch stands in the message as Go prints it."""
    server.post(deployments(shared_ns), deployment() | {"metadata": {"name": unique}})
    at = deployments(shared_ns, unique)
    pod = {"hostNetwork": 1}
    for spec, told in (
        ({"replicas": "x"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"paused": "x"}, "unrecognized type: bool"),
        ("x", "cannot restore struct from: string"),
        ({"template": {"spec": pod}}, "unrecognized type: bool"),
        ({"template": {"spec": {"nodeSelector": "x"}}}, "cannot restore map from string"),
        ({"template": {"spec": {"nodeSelector": {"a": 1}}}}, "cannot convert int64 to string"),
        (
            {"template": {"spec": {"containers": [{"name": "x", "command": "a"}]}}},
            "cannot restore slice from string",
        ),
    ):
        answer = server.patch(at, {"spec": spec}, content_type=wire.STRATEGIC)
        assert unpatched(answer) == told, spec
    answer = server.patch(at, {"spec": {"replicas": "x"}}, content_type=wire.STRATEGIC)
    assert 'Invalid value: "map[spec:map[replicas:x]]": ' in answer.body["message"]


def test_values_are_written_as_their_types_are(server: wire.Server, shared_ns: str) -> None:
    """Nulls and zero values fall away unless they mean something; quantities are tidied."""
    body = deployment(
        env=[{"name": "A", "value": ""}],
        resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}},
        command=[],
        tty=False,
        workingDir=None,
    )
    body["spec"]["paused"] = False
    body["metadata"]["annotations"] = {"a": None}
    found = server.post(deployments(shared_ns), body, dryRun="All").body
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A"}]
    assert container["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}}
    assert not {"command", "tty", "workingDir"} & container.keys()
    assert "paused" not in found["spec"]
    assert found["spec"]["replicas"] == 0
    assert found["metadata"]["annotations"] == {"a": ""}


# -- kinds and versions -------------------------------------------------------------------------


def test_other_kinds_on_a_built_in_path(server: wire.Server, shared_ns: str) -> None:
    """Kinds that nobody knows, and kinds that belong elsewhere."""
    path, obj = wire.configmaps(shared_ns), wire.configmap("a")
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'
    for version, kind, told in (
        ("v1", "Foo", f'no kind "Foo" is registered for version "v1" {scheme}'),
        ("v2", "ConfigMap", f'no kind "ConfigMap" is registered for version "v2" {scheme}'),
        (
            "apps/v1",
            "ConfigMap",
            f'no kind "ConfigMap" is registered for version "apps/v1" {scheme}',
        ),
        ("v1", "Pod", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
    ):
        answer = server.post(path, {**obj, "apiVersion": version, "kind": kind})
        begin = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a ConfigMap'
        assert refused(answer) == f"{begin}: {told}"
    answer = server.post(path, {**obj, "apiVersion": "a/b/c"})
    begin = "the object provided is unrecognized (must be of type ConfigMap): "
    told = f"{begin}unexpected GroupVersion string: a/b/c ("
    assert refused(answer).startswith(told)


def test_other_kinds_on_a_custom_path(server: wire.Server, fields: str) -> None:
    """The version must be that of the path, the kind that of the CRD."""
    expected = f"does not match the expected API version ({GROUP}/v1)"
    for given in (f"{GROUP}/v2", "v1", ""):
        body = {**field("a"), "apiVersion": given}
        told = f"the API version in the data ({given}) {expected}"
        assert refused(server.post(fields, body)) == told
    answer = server.post(fields, {**field("a"), "kind": "Foo"})
    told = f'Foo.{GROUP} "a" is invalid: kind: Invalid value: "Foo": must be {KIND}'
    assert (answer.code, answer.body["message"]) == (422, told)
    answer = server.call("POST", fields, '{"a":1}')
    told = f"(must be of type {KIND}): Object 'Kind' is missing in '{{\"a\":1}}' ({{\"a\":1}})"
    assert refused(answer) == f"the object provided is unrecognized {told}"


def test_kinds_in_patches(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """A patch cannot make another kind of an object, nor one that has none where that counts."""
    path, obj = kind
    server.post(path, {**obj, "metadata": {"name": unique}})
    at = f"{path}/{unique}"
    answer = server.patch(at, {"kind": "Foo"})
    if obj["kind"] == KIND:
        told = f'Foo.{GROUP} "{unique}" is invalid: kind: Invalid value: "Foo": must be {KIND}'
        assert (answer.code, answer.body["message"]) == (422, told)
        assert unpatched(server.patch(at, {"kind": None})).startswith("Object 'Kind' is missing in")
    else:
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        assert unpatched(answer) == f'no kind "Foo" is registered for version "v1" {scheme}'
        assert server.patch(at, {"kind": None}).code == 200
        assert server.patch(at, {"kind": "Foo"}, content_type=wire.STRATEGIC).code == 200
    told = "json: cannot unmarshal number into Go struct field .kind of type string"
    wanted = f"couldn't get version/kind; json parse error: {told}"
    assert unpatched(server.patch(at, {"kind": 5})) == wanted


def test_kinds_in_applies(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """Nothing but the path's own."""
    path, obj = kind
    at = f"{path}/{unique}"
    for text, told in (
        ("", "/, Kind="),
        ("kind: Foo", "/, Kind=Foo"),
        ("apiVersion: v1\nkind: Pod\n", "/v1, Kind=Pod"),
        (f"apiVersion: {obj['apiVersion']}\n", f"{group_version(obj)}, Kind="),
    ):
        answer = server.apply(at, text, manager="me")
        assert refused(answer) == f"invalid object type: {told}"


def group_version(obj: Obj) -> str:
    """``/v1`` for the core group."""
    version: str = obj["apiVersion"]
    return version if "/" in version else f"/{version}"


# -- texts that cannot be read ------------------------------------------------------------------

END = "unexpected end of JSON input"
BEGIN = "looking for beginning of"
HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
HEAD += 'Kind string "json:\\"kind,omitempty\\"" }'
TEXTS = (
    ("", f"{END} (<empty>)"),
    ("x", f"invalid character 'x' {BEGIN} value (78)"),
    ("{", f"{END} ({{)"),
    ('{"a":', f'{END} ({{"a":)'),
    ('{"a":1}x', "invalid character 'x' after top-level value ({\"a\":1}x)"),
    ('{"a":1,}', f"invalid character '}}' {BEGIN} object key string ({{\"a\":1,}})"),
    ("{'a':1}", f"invalid character '\\'' {BEGIN} object key string ({{'a':1}})"),
    ('{"a" 1}', "invalid character '1' after object key ({\"a\" 1})"),
    ('{"a":1 "b"}', 'invalid character \'"\' after object key:value pair ({"a":1 "b"})'),
    ('{"a":NaN}', f"invalid character 'N' {BEGIN} value ({{\"a\":NaN}})"),
    ('{"a":tru}', "invalid character '}' in literal true (expecting 'e') ({\"a\":tru})"),
    ('{"a":1.}', "invalid character '}' after decimal point in numeric literal ({\"a\":1.})"),
    ('{"a":-}', "invalid character '}' in numeric literal ({\"a\":-})"),
    ('{"a":1e}', "invalid character '}' in exponent of numeric literal ({\"a\":1e})"),
    ('{"a":"\\x"}', 'invalid character \'x\' in string escape code ({"a":"\\x"})'),
    ('{"a":"\\u1"}', 'invalid character \'"\' in \\u hexadecimal character escape ({"a":"\\u1"})'),
    ('{"a":"\x01"}', 'invalid character \'\\x01\' in string literal ({"a":"\x01"})'),
    ("[1 2]", "invalid character '2' after array element (5b3120325d)"),
    ("é", f"invalid character 'Ã' {BEGIN} value (c3a9)"),
    ("[]", f"json: cannot unmarshal array into Go value of type {HEAD} (5b5d)"),
    ("5", f"json: cannot unmarshal number into Go value of type {HEAD} (35)"),
    (
        '{"apiVersion":1,"metadata":{"name":"long"}}',
        "json: cannot unmarshal number into Go struct field .apiVersion of type string "
        '({"apiVersion":1,"metadata":{"n ...)',
    ),
)


def test_bodies_that_are_no_json(server: wire.Server, kind: tuple[str, Obj]) -> None:
    """The message is that of the server's scanner, and the body's beginning is shown."""
    path, obj = kind
    begin = f"the object provided is unrecognized (must be of type {obj['kind']}): "
    for text, told in TEXTS:
        answer = server.call("POST", path, text)
        wanted = f"{begin}couldn't get version/kind; json parse error: {told}"
        assert refused(answer) == wanted, text


YAMLS = (
    ("{", "yaml: line 1: did not find expected node content ({)"),
    ("a: b: c", "yaml: mapping values are not allowed in this context (613a20623a2063)"),
    ("a:\n\t- b", "yaml: line 2: found character that cannot start any token (613a0a092d2062)"),
    ("a: *x", "yaml: unknown anchor 'x' referenced (613a202a78)"),
    (
        "a: b\n c: d",
        "yaml: line 2: mapping values are not allowed in this context (613a20620a20633a2064)",
    ),
    (
        "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 'x",
        "yaml: line 6: found unexpected end of stream "
        "(613a20310a623a20320a633a20330a643a20340a653a20350a663a202778)",
    ),
    ("a: [1\nb: 2\n", "yaml: line 1: did not find expected ',' or ']' (613a205b310a623a20320a)"),
    ("a: .inf", "json: unsupported value: +Inf (613a202e696e66)"),
    (
        "- a",
        "couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal array into Go value of type {HEAD} (2d2061)",
    ),
)


def test_bodies_that_are_no_yaml(server: wire.Server, kind: tuple[str, Obj]) -> None:
    """The message is that of the server's YAML parser."""
    path, obj = kind
    begin = f"the object provided is unrecognized (must be of type {obj['kind']}): "
    for text, told in YAMLS:
        answer = server.call("POST", path, text, content_type=YAML)
        assert refused(answer) == begin + told, text


def test_yaml_is_read_as_the_server_does(server: wire.Server, kind: tuple[str, Obj]) -> None:
    """YAML 1.1 with Go's numbers, of which built-in texts take none."""
    path, obj = kind
    head = f"apiVersion: {obj['apiVersion']}\nkind: {obj['kind']}\nmetadata:\n  name: a\n"
    values = "a: yes\nb: 'yes'\nc: 2020-01-01\nd: 1e3\ne: 010\nf: 0x10\ng: ~\n1: x\nh: 12:30:45\n"
    if obj["kind"] == KIND:
        text = f"{head}  annotations: {{a: yes}}\n"
        told = f"json: cannot unmarshal bool {OF_META}annotations of type string"
    else:
        text = head + "data:\n" + "".join(f"  {line}\n" for line in values.splitlines())
        told = "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"
    answer = server.call("POST", path, text, content_type=YAML)
    assert refused(answer) == prefix(obj) + told
    text = f"{head}  annotations: {{b: 'yes', c: 2020-01-01, h: 12:30:45, g: ~}}\n---\nx: y\n"
    answer = server.call("POST", path, text, content_type=YAML, dryRun="All")
    wanted = {"b": "yes", "c": "2020-01-01", "h": "12:30:45", "g": ""}
    assert (answer.code, answer.body["metadata"]["annotations"]) == (201, wanted)


def test_built_in_bodies_may_be_empty(server: wire.Server, shared_ns: str) -> None:
    """Then only the name is missing."""
    path = wire.configmaps(shared_ns)
    for content_type, text in ((wire.JSON, "null"), (wire.JSON, "{}"), (YAML, ""), (YAML, "null")):
        answer = server.call("POST", path, text, content_type=content_type)
        told = "metadata.name: Required value: name or generateName is required"
        assert (answer.code, answer.body["message"]) == (422, f'ConfigMap "" is invalid: {told}')


def test_patches_that_are_none(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """Each type of patch is refused in its own words."""
    path, obj = kind
    server.post(path, {**obj, "metadata": {"name": unique}})
    at = f"{path}/{unique}"
    types = [wire.MERGE, wire.JSON_PATCH] + ([wire.STRATEGIC] if obj["kind"] != KIND else [])
    for media_type in types:
        for text in ("", "x", "{", '{"a":1}x'):
            answer = server.patch(at, text, content_type=media_type)
            assert refused(answer) == "invalid JSON patch"
    into = "into Go value of type map[string]interface {}"
    told = f"error decoding patch: json: cannot unmarshal array {into}"
    assert refused(server.patch(at, "[]")) == told
    assert refused(server.patch(at, "null")) == "Invalid JSON Patch"
    if wire.STRATEGIC in types:
        answer = server.patch(at, "5", content_type=wire.STRATEGIC)
        assert refused(answer) == f"json: cannot unmarshal number {into}"
    for text, told in (
        ("5", "number into Go value of type []handlers.jsonPatchOp"),
        ('["x"]', "string into Go value of type handlers.jsonPatchOp"),
        ('[{"op":5}]', "number into Go struct field jsonPatchOp.op of type string"),
    ):
        answer = server.patch(at, text, content_type=wire.JSON_PATCH)
        assert refused(answer) == f"error decoding patch: json: cannot unmarshal {told}"
    assert server.patch(at, "[]", content_type=wire.JSON_PATCH).code == 200


def test_applies_that_are_none(server: wire.Server, kind: tuple[str, Obj], unique: str) -> None:
    """They are read as YAML, then as a map."""
    at = f"{kind[0]}/{unique}"
    into = "json: cannot unmarshal string into Go value of type map[string]interface {}"
    for text, told in (
        ("x", f"error decoding patch: error unmarshaling JSON: while decoding JSON: {into}"),
        ("a: b: c", "error encoding patch: yaml: mapping values are not allowed in this context"),
        (
            "{",
            "error decoding patch: error converting YAML to JSON: "
            "yaml: line 1: did not find expected node content",
        ),
    ):
        assert refused(server.apply(at, text, manager="me")) == told


def test_broken_characters_are_replaced(server: wire.Server, ns: str) -> None:
    """Bytes that are no UTF-8 and halves of surrogate pairs become the replacement character."""
    body = json.dumps(wire.configmap("a", {"a": "X", "b": "\\ud800"})).replace("\\\\", "\\")
    answer = server.call("POST", wire.configmaps(ns), body.encode().replace(b"X", b"\xff"))
    assert (answer.code, answer.body["data"]) == (201, {"a": "\ufffd", "b": "\ufffd"})
    assert server.get(wire.configmaps(ns, "a")).body["data"] == copy.copy(answer.body["data"])
