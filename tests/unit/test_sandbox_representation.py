"""Tests of ansible_operator.sandbox.views.representation: which form a client accepts."""

from __future__ import annotations

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.views import representation


@pytest.mark.parametrize(
    ("accept", "media_type", "shape"),
    [
        ("", "application/json", ""),
        ("*/*", "application/json", ""),
        ("application/yaml", "application/yaml", ""),
        ("text/html, application/json", "application/json", ""),
        ("application/vnd.kubernetes.protobuf, application/json", "application/json", ""),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "application/json",
            "Table",
        ),
        ("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", "application/json", ""),
        (
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json",
            "PartialObjectMetadata",
        ),
    ],
)
def test_the_first_form_that_is_served(accept: str, media_type: str, shape: str) -> None:
    """Forms that are not served are passed over."""
    form = representation.negotiate(accept)
    assert (form.media_type, form.shape) == (media_type, shape)


def test_no_form_is_406() -> None:
    """With the forms that there are."""
    with pytest.raises(failure.ApiFailure, match="Available representations: application/json"):
        representation.negotiate("text/html")
