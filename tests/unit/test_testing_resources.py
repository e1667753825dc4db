"""Objects for tests, read from what people have: files, directories, texts, maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.testing import resources

TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
# nothing
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
"""


def names(source: resources.Source) -> list[str]:
    """The names of the objects of a source."""
    return [obj["metadata"]["name"] for obj in resources.documents(source)]


def test_a_text_a_map_and_a_list_are_sources() -> None:
    """Documents come in order, empty ones do not count, lists are unpacked."""
    assert names(TWO) == ["one", "two"]
    assert names({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three"}}) == [
        "three"
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": resources.documents(TWO)}
    assert names(str(listed)) == ["one", "two"]


def test_a_directory_gives_its_manifests_by_name(tmp_path: Path) -> None:
    """Other files and kustomizations are left out."""
    (tmp_path / "b.yaml").write_text(TWO.replace("one", "b1").replace("two", "b2"))
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}}')
    (tmp_path / "README.md").write_text("# no YAML: here")
    (tmp_path / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [b.yaml]\n"
    )
    assert names(tmp_path) == ["a", "b1", "b2"]
    assert names(tmp_path / "b.yaml") == ["b1", "b2"]


def test_what_holds_no_objects_is_named(tmp_path: Path) -> None:
    """The file and its beginning stand in the error."""
    path = tmp_path / "values.yaml"
    path.write_text("replicas: 3\n")
    with pytest.raises(ValueError, match=r"values\.yaml holds .* no object: .*replicas"):
        resources.documents(path)
    with pytest.raises(ValueError, match="the text holds"):
        resources.documents("just words")
