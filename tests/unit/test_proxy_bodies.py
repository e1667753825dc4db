"""Bodies get their owner spliced in; everything else of them is what it was, to the byte."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import owners
import pytest
import yaml
from hypothesis import strategies as st

from ansible_operator import objects, ownership
from ansible_operator.kube.proxy import bodies

REFERENCE = ownership.Claim(reference=ownership.reference(owners.owner()))
ANNOTATIONS = ownership.Claim(annotations=ownership.primary_annotations(owners.owner()))
BOTH = pytest.mark.parametrize("claim", [REFERENCE, ANNOTATIONS], ids=["reference", "annotations"])


def own(text: str, media: str = bodies.JSON, claim: ownership.Claim = REFERENCE) -> str:
    """The text of a body with a claim in it."""
    return bodies.own(text.encode(), media, lambda _: claim).decode()


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ({}, "application/json"),
        ({"content-type": ""}, "application/json"),
        ({"content-type": "Application/YAML; charset=utf-8"}, "application/yaml"),
    ],
)
def test_media_type(header: dict[str, str], media: str) -> None:
    """Without parameters; what says nothing is JSON."""
    assert bodies.media_type(header) == media


def test_every_byte_of_json_stays() -> None:
    """Numbers, escapes, order, blanks and double keys."""
    text = (
        ' {"z":1.0, "metadata" : { "name":"\\ud83d\\u0041", "labels":{"a" : "\\u00e9"}},\n'
        '"a":1e999,"n":123456789012345678901234567890, "a":-0, "d":[1.10,{}]} \n'
    )
    added = json.dumps([dict(REFERENCE.reference or {})], separators=(",", ":"))
    assert own(text) == text.replace('{ "name"', f'{{"ownerReferences":{added}, "name"')


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"metadata":null}',
        '{"metadata":{}}',
        '{"metadata":{"ownerReferences":null,"annotations":null}}',
        '{"metadata":{"ownerReferences":[],"annotations":{}}}',
        '{"metadata":{"ownerReferences":[{"uid":"u2"}],"annotations":{"a":"b"}}}',
        '{"metadata":{"annotations":{"operator-sdk/primary-resource":"old","a":"b"}}}',
        '{"metadata":{"name":"first"},"metadata":{"name":"last"}}',
    ],
)
@pytest.mark.parametrize("media", sorted(bodies.EDITABLE))
def test_json(text: str, claim: ownership.Claim, media: str) -> None:
    """All forms in which metadata comes, under all content types that take JSON."""
    before = json.loads(text)
    after = json.loads(own(text, media, claim))
    assert nullless(after) == nullless(ownership.add(nullless(before), claim))


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "metadata:\n  name: x\nspec: on\n",
        "metadata: {name: x}  # comment\nn: 010\n",
        "metadata: {}\n",
        "metadata:\nspec: 2020-01-01\n",
        "metadata: ~\nspec: 1_000\n",
        "kind: ConfigMap\n",
        "---\nmetadata:\n  ownerReferences:\n  - uid: u2\n    name: x\n  name: b\n...\n",
        "metadata:\n  ownerReferences: [{uid: u2}]\n  annotations: {a: b}\n",
        "metadata:\n  ownerReferences: []\n  annotations: {}\n",
        "metadata:\n  ownerReferences:\n  annotations:\n  name: x\n",
        "metadata:\n  annotations:\n    operator-sdk/primary-resource: 'old' # c\n    r: s\n",
        "metadata:\n    labels: {a: b}\n    name: é☃😀\ndata:\n  t: |\n    metadata:\n",
        "? metadata\n: name: x\n",
        "\ufeffmetadata:\n  name: x\n",
        "metadata:\r\n  name: x\r\nb: 1\r\n",
        '"metadata":\n  "name": "a\\tb"\n',
        "{metadata: {name: x}, a: yes}",
    ],
)
def test_yaml(text: str, claim: ownership.Claim) -> None:
    """All forms in which YAML has metadata; what is not the owner's reads as before."""
    before = texts(text.removeprefix("\ufeff"))
    after = texts(own(text, bodies.YAML, claim))
    wanted = texts(json.dumps(ownership.add(nullless(before), claim), ensure_ascii=False))
    for found in (after, wanted):
        ownership.references(found).sort(key=str)
    assert order(nullless(after)) == order(nullless(wanted))


def test_yaml_keeps_its_text() -> None:
    """Only a line is added: comments, words and numbers are not read and written anew."""
    text = "# a\nmetadata:\n  # b\n  name: y\nspec: {on: 0o7, d: 2020-01-01, n: 1_0, f: 1.10}\n"
    after = own(text, bodies.YAML)
    (added,) = set(after.splitlines()) - set(text.splitlines())
    assert after.replace(f"{added.strip()}\n  ", "") == text


def test_only_the_first_document() -> None:
    """As the API server reads it."""
    text = "metadata:\n  name: a\n---\nmetadata:\n  name: b\n"
    first, second = yaml.safe_load_all(own(text, bodies.YAML))
    assert "ownerReferences" in first["metadata"]
    assert second == {"metadata": {"name": "b"}}


@BOTH
@pytest.mark.parametrize("media", sorted(bodies.EDITABLE))
def test_nothing_to_add(claim: ownership.Claim, media: str) -> None:
    """What is owned already, or is not to be owned, is the very same."""
    body = json.dumps(ownership.add(owners.obj(name="x"), claim), indent=1).encode()
    assert bodies.own(body, media, lambda _: claim) is body
    text = yaml.safe_dump(ownership.add(owners.obj(name="x"), claim)).encode()
    assert bodies.own(text, bodies.YAML, lambda _: claim) is text
    assert bodies.own(b"{}", media, lambda _: None) == b"{}"


def test_the_claim_knows_the_metadata() -> None:
    """It may depend on the namespace in the body."""
    seen: list[objects.Obj] = []

    def claim(obj: objects.Obj) -> None:
        seen.append(obj)

    bodies.own(b'{"metadata":{"namespace":"a"},"data":{}}', bodies.JSON, claim)
    bodies.own(b"metadata: {namespace: b}\ndata: {}\n", bodies.YAML, claim)
    assert seen == [{"metadata": {"namespace": "a"}}, {"metadata": {"namespace": "b"}}]


@pytest.mark.parametrize(
    ("body", "media", "problem"),
    [
        (b"\xff", bodies.JSON, "it is not UTF-8"),
        (b"", bodies.JSON, "it is no JSON"),
        (b"[]", bodies.JSON, "it is not one JSON object"),
        (b"{} {}", bodies.JSON, "it is not one JSON object"),
        (b"metadata: {}", bodies.JSON, "it is no JSON"),
        (b'{"metadata":[]}', bodies.JSON, "its metadata is no map"),
        (b'{"metadata":{"ownerReferences":{}}}', bodies.JSON, "its metadata.ownerReferences is no"),
        (b'{"a":' + b"[" * 100_000, bodies.JSON, "nested too deeply"),
        (b"", bodies.YAML, "it is not one YAML mapping"),
        (b"a: [", bodies.YAML, "it is no YAML"),
        (b"a: \x00", bodies.YAML, "it is no YAML"),
        (b"- a", bodies.YAML, "it is not one YAML mapping"),
        (b"metadata: text", bodies.YAML, "its metadata is no map"),
        (b"metadata:\n  <<: {name: x}\n", bodies.YAML, "it merges another map"),
        (b"? [a]\n: b\n", bodies.YAML, "a key that is no text"),
        (b"metadata: &m {name: x}\ncopy: *m\n", bodies.YAML, "of a form in which"),
        (b"a: " + b"b" * 262_144, bodies.YAML, "more than 256 KiB"),
        (b"b: &b {name: x}\nmetadata: *b\nc: *b\n", bodies.YAML, "of a form in which"),
    ],
)
def test_unreadable(body: bytes, media: str, problem: str) -> None:
    """The error says what is wrong with it."""
    with pytest.raises(bodies.BodyError, match=problem):
        bodies.own(body, media, lambda _: REFERENCE)


def test_a_short_text_that_is_huge() -> None:
    """Aliases of aliases end in an error, not in all of the memory."""
    text = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    with pytest.raises(bodies.BodyError, match="too many parts"):
        own(text + "metadata: {}\n", bodies.YAML)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcxyz<>~-", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
TEXTS = st.dictionaries(st.text("abc/", min_size=1, max_size=5), st.text("ab: #'\n\"", max_size=6))
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": st.text("abon", min_size=1)})},
    optional={"spec": VALUES, "data": TEXTS},
) | st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "annotations": TEXTS,
                "ownerReferences": st.lists(
                    st.fixed_dictionaries({"uid": st.sampled_from(["u2", "u3"])}), max_size=2
                ),
            },
        )
    }
)


@hypothesis.given(OBJECTS, st.sampled_from([REFERENCE, ANNOTATIONS]), st.sampled_from([None, 2]))
def test_any_json(obj: dict[str, Any], claim: ownership.Claim, indent: int | None) -> None:
    """Whatever is in it, exactly the claim is added."""
    after = json.loads(own(json.dumps(obj, indent=indent), bodies.JSON, claim))
    assert after == ownership.add(obj, claim)


@hypothesis.given(
    OBJECTS,
    st.sampled_from([REFERENCE, ANNOTATIONS]),
    st.sampled_from([None, True, False]),
    st.integers(2, 6),
)
def test_any_yaml(
    obj: dict[str, Any], claim: ownership.Claim, flow: bool | None, indent: int
) -> None:
    """The same for YAML in all of its styles."""
    text = yaml.safe_dump(obj, default_flow_style=flow, indent=indent, allow_unicode=True)
    after = yaml.safe_load(own(text, bodies.YAML, claim))
    assert order(after) == order(ownership.add(obj, claim))


def order(obj: Any) -> Any:
    """The object with its owners sorted: in YAML a new one is the first."""
    found = sorted(ownership.references(obj), key=lambda entry: str(entry["uid"]))
    meta = objects.metadata(obj)
    return {**obj, "metadata": {**meta, **({"ownerReferences": found} if found else {})}}


def texts(text: str) -> Any:
    """YAML with all scalars as texts."""
    return next(yaml.load_all(text, Loader=yaml.BaseLoader))


def nullless(obj: Any) -> Any:
    """The object with the nulls of its metadata left out, as the API server reads them."""
    meta = objects.metadata(obj)
    return {**obj, "metadata": {key: value for key, value in meta.items() if value}}


OTHERS = (ownership.Claim({"uid": "u2"}), ownership.Claim({"uid": "u3"}))


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({}, ["u2", "u3"]),
        ({"name": "x"}, ["u2", "u3"]),
        ({"ownerReferences": []}, []),
        ({"ownerReferences": [{"uid": "u4"}]}, ["u4"]),
    ],
)
def test_owners_of_others_are_kept(meta: dict[str, Any], kept: list[str]) -> None:
    """All of them, unless the body has a list of owners itself."""
    body = json.dumps({"metadata": meta}).encode()
    found = json.loads(bodies.keep(body, bodies.JSON, OTHERS))
    assert [entry["uid"] for entry in found["metadata"].get("ownerReferences", [])] == kept


def test_annotations_of_others_are_kept() -> None:
    """Each that the body does not have itself."""
    wanted = ownership.Claim(annotations={"a": "theirs", "b": "theirs"})
    body = b"metadata: {annotations: {a: own}}"
    found = yaml.safe_load(bodies.keep(body, bodies.YAML, [wanted]))
    assert found["metadata"]["annotations"] == {"a": "own", "b": "theirs"}
    body = b'{"metadata": {"annotations": {"a": "1", "b": "2"}}}'
    assert bodies.keep(body, bodies.JSON, [wanted]) == body
