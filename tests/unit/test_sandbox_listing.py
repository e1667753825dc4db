"""Tests of ansible_operator.sandbox.listing: pages of one moment."""

from __future__ import annotations

import pytest
import sandbox_fakes
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_operator.sandbox import failure, kinds, listing, options


def prepared(count: int) -> tuple[sandbox_fakes.Lab, kinds.Resource, listing.Lister]:
    """A lab with so many leases."""
    lab = sandbox_fakes.Lab()
    for number in range(count):
        lab.create("leases.coordination.k8s.io", f"m{number:03}")
    found = lab.registry.kinds.named("leases.coordination.k8s.io")
    assert found is not None
    return lab, found, listing.Lister(lab.registry)


def names(page: listing.Page) -> list[str]:
    """The names on a page."""
    return [item["metadata"]["name"] for item in page.items]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12))
def test_pages_together_are_the_list(count: int, limit: int) -> None:
    """Each object once, in order, and the number of those that are left is right."""
    _, resource, lister = prepared(count)
    found: list[str] = []
    page = lister.page(resource, "ns", "", options.List(limit=limit))
    while True:
        found += names(page)
        assert page.remaining in (None, count - len(found))
        if not page.go_on:
            break
        page = lister.page(resource, "ns", "", options.List(limit=limit, go_on=page.go_on))
    assert found == [f"m{number:03}" for number in range(count)]


def test_later_changes_are_not_in_later_pages() -> None:
    """What was deleted since is still there, what was made is not."""
    lab, resource, lister = prepared(4)
    first = lister.page(resource, "ns", "", options.List(limit=2))
    lab.api.delete("leases.coordination.k8s.io", "ns", "m003")
    lab.create("leases.coordination.k8s.io", "m999")
    rest = lister.page(resource, "ns", "", options.List(limit=9, go_on=first.go_on))
    assert names(rest) == ["m002", "m003"]
    assert rest.revision == first.revision


def test_forgotten_moments_are_expired() -> None:
    """Only so many lists can be gone on with; the oldest answers 410."""
    lab, resource, lister = prepared(3)
    first = lister.page(resource, "ns", "", options.List(limit=1))
    for number in range(listing.SNAPSHOTS):
        lab.create("leases.coordination.k8s.io", f"n{number}")
        lister.page(resource, "ns", "", options.List(limit=1))
    with pytest.raises(failure.ApiFailure) as refused:
        lister.page(resource, "ns", "", options.List(limit=1, go_on=first.go_on))
    assert refused.value.code == 410


@pytest.mark.parametrize("token", ["abc", "e30", "bnVsbA", "%%%", "W10"])
def test_what_is_no_token_is_refused(token: str) -> None:
    """With a 400."""
    _, resource, lister = prepared(1)
    with pytest.raises(failure.ApiFailure) as refused:
        lister.page(resource, "ns", "", options.List(limit=1, go_on=token))
    assert refused.value.code == 400


def test_old_versions_are_expired() -> None:
    """Only the current version can be asked for exactly; who has an old one begins again."""
    lab, resource, lister = prepared(1)
    current = str(lab.storage.revision)
    exact = options.List(revision=current, match="Exact")
    assert names(lister.page(resource, "ns", "", exact)) == ["m000"]
    lab.create("leases.coordination.k8s.io", "later")
    with pytest.raises(failure.ApiFailure) as refused:
        lister.page(resource, "ns", "", exact)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
