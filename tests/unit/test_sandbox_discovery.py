"""Discovery documents, from what is served."""

from __future__ import annotations

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.views import discovery

THING = kinds.Resource(
    "example.com",
    "v1",
    "Thing",
    "things",
    "thing",
    short_names=("t",),
    subresources=("status", "scale"),
    custom=True,
    list_kind="ThingList",
    key=("example.com", "things"),
)


def served() -> kinds.Kinds:
    """The built-in kinds and a custom one."""
    found = kinds.Kinds()
    found.replace_custom(THING.key, [THING])
    return found


def test_groups_come_without_the_core_group() -> None:
    """Custom groups after the built-in ones."""
    names = [group["name"] for group in discovery.groups(served())["groups"]]
    assert "" not in names
    assert names[-1] == "example.com"


def test_a_group_that_is_not_served() -> None:
    """There is no document of it, nor of the core group."""
    assert discovery.group(served(), "nosuch.example.com") is None
    assert discovery.group(served(), "") is None
    assert discovery.resources(served(), "apps", "v9") is None


def test_resources_with_their_subresources() -> None:
    """Subresources follow their resource."""
    found = discovery.resources(served(), "example.com", "v1")
    assert found is not None
    names = [resource["name"] for resource in found["resources"]]
    assert names == ["things", "things/status", "things/scale"]
    assert found["resources"][0]["shortNames"] == ["t"]


def test_aggregated_discovery_names_the_kinds_of_custom_resources() -> None:
    """With group and version, which those of built-in resources leave out."""
    groups = discovery.aggregated(served(), core=False)["items"]
    thing = groups[-1]["versions"][0]["resources"][0]
    own = {"group": "example.com", "version": "v1", "kind": "Thing"}
    assert thing["responseKind"] == own
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert [sub["responseKind"] for sub in thing["subresources"]] == [own, scale]


def test_proxies_speak_a_kind_of_their_resource() -> None:
    """NodeProxyOptions, PodProxyOptions, ServiceProxyOptions."""
    found = discovery.resources(served(), "", "v1")
    assert found is not None
    kinds_of = {r["name"]: r["kind"] for r in found["resources"] if r["name"].endswith("/proxy")}
    assert kinds_of == {
        "nodes/proxy": "NodeProxyOptions",
        "pods/proxy": "PodProxyOptions",
        "services/proxy": "ServiceProxyOptions",
    }


def test_health() -> None:
    """ok, all checks, or one of them."""
    assert discovery.health("/livez", verbose=False) == "ok"
    assert discovery.health("/livez/ping", verbose=False) == "ok"
    assert discovery.health("/livez/nosuch", verbose=False) is None
    text = discovery.health("/livez", verbose=True)
    assert text is not None
    assert text.startswith("[+]ping ok\n")
    assert text.endswith("livez check passed\n")


def test_the_root_lists_custom_groups() -> None:
    """With their versions."""
    assert {"/apis/example.com", "/apis/example.com/v1"} <= set(discovery.root(served())["paths"])
