"""The variables of a run: names, order, what an object may not set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_operator import objects, watches
from ansible_operator.ansible import params

UNIT_PAIRS = [
    ("var", "var"),
    ("888", "888"),
    ("var_var", "var_var"),
    ("size_k8s_test", "size_k8s_test"),
    ("k8s_var", "k8s_var"),
    ("_k8s_var", "_k8s_var"),
    ("k8s var", "k8s_var"),
    ("this_should_be_a_noop", "this_should_be_a_noop"),
    ("ThisShouldHaveUnderscores", "_this_should_have_underscores"),
    ("sizeK8sBuckets", "size_k8s_buckets"),
    ("_CanYou_Handle_mixedVars", "_can_you_handle_mixed_vars"),
    ("egressIPs", "egress_ips"),
    ("egressIPsEgress", "egress_ips_egress"),
    ("egressIPsegress", "egress_ips_egress"),
    ("IPsegress", "_ips_egress"),
    ("egressIP", "egress_ip"),
    ("egressIPEgress", "egress_ip_egress"),
    ("egressIPegress", "egress_ip_egress"),
    ("URLegressIPEgressHTTP", "url_egress_ip_egress_http"),
    ("URLsegressIPsEgressHTTPs", "_urls_egress_ips_egress_https"),
]

FURTHER_VALUES = [
    ("newParameter", "new_parameter"),
    ("serviceAccount", "service_account"),
    ("apiVersion", "api_version"),
    ("APIVersion", "_api_version"),
    ("JSONData", "_json_data"),
    ("dataJSON", "data_json"),
    ("clusterIP", "cluster_ip"),
    ("clusterIPs", "cluster_ips"),
    ("loadBalancerIP", "load_balancer_ip"),
    ("externalURL", "external_url"),
    ("baseURLs", "base_urls"),
    ("URLPath", "url_path"),
    ("URL", "__url"),
    ("IP", "__ip"),
    ("HTTP", "__http"),
    ("HTTPS", "http_s"),
    ("useHTTPS", "use_http_s"),
    ("HTTPSPort", "http_s_port"),
    ("HTTPPort", "http_port"),
    ("httpsPort", "https_port"),
    ("httpGet", "http_get"),
    ("enableHTTP2", "enable_http_2"),
    ("http2Enabled", "http2_enabled"),
    ("HTTPURL", "http__url"),
    ("ZIPCode", "_z_ip_code"),
    ("SHIPMENT", "_sh_ip_ment"),
    ("VIPs", "_v_ips"),
    ("hostIPC", "host_ip_c"),
    ("hostPID", "host_pid"),
    ("IPAM", "ip_am"),
    ("IPv4Address", "ip_v4_address"),
    ("podIPv6", "pod_ip_v6"),
    ("ipv4Address", "ipv4_address"),
    ("maxCPUs", "max_cp_us"),
    ("numCPU", "num_cpu"),
    ("userIDs", "user_i_ds"),
    ("userID", "user_id"),
    ("ID", "_id"),
    ("OAuth2", "_o_auth2"),
    ("A", "_a"),
    ("aB", "ab"),
    ("aBC", "abc"),
    ("ABc", "_a_bc"),
    ("fooBARBaz", "foo_bar_baz"),
    ("foo1Bar", "foo1_bar"),
    ("fooBar1Baz", "foo_bar1_baz"),
    ("a1b2", "a_1_b2"),
    ("x1y2z3", "x_1_y2z3"),
    ("s3Bucket", "s3_bucket"),
    ("S3Bucket", "_s3_bucket"),
    ("x509Cert", "x509_cert"),
    ("kebab-case-key", "kebab_case_key"),
    ("dotted.key", "dotted.key"),
    ("camelCase-withDash", "camel_case_with_dash"),
    ("already__double", "already__double"),
    ("trailing_", "trailing_"),
    ("__dunder__", "__dunder__"),
    ("IPs", "__ips"),
    ("URLs", "__urls"),
    ("podIPs", "pod_ips"),
    ("IP2", "ip_2"),
    ("fooIPs2", "foo_ips_2"),
    ("URL2go", "url_2go"),
    ("proxyURLIPHTTP", "proxy_url__ip__http"),
    ("fooIPBarIP", "foo_ip_bar_ip"),
    ("1abc", "1abc"),
]

GVK = objects.GVK("cache.example.com", "v1", "Memcached")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def make_watch(gvk: objects.GVK = GVK, **keys: Any) -> watches.Watch:
    """A watch with these keys."""
    return watches.Watch(gvk, watches.Role(Path("/roles/r")), **keys)


def build(spec: Any, finalizing: bool = False, **keys: Any) -> params.Params:
    """The variables for an object with this spec."""
    obj = {"metadata": {"name": "n", "namespace": "ns"}, "spec": spec}
    return params.build(make_watch(**keys), obj, finalizing)


@pytest.mark.parametrize(("key", "name"), UNIT_PAIRS)
def test_golden_unit_pairs(key: str, name: str) -> None:
    """The pairs of the incumbent's own tests convert as there."""
    assert params.snake_case(key) == name


@pytest.mark.parametrize(("key", "name"), FURTHER_VALUES)
def test_golden_further_values(key: str, name: str) -> None:
    """The surprising conversions of the incumbent are kept byte for byte."""
    assert params.snake_case(key) == name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("quotaName", "quota_name"),
        ("egressIPs", "egress_ips"),
        ("db2_init", "db2_init"),
        ("pg1_repo_path", "pg1_repo_path"),
        ("abc11def", "abc11def"),
        ("test_k8s_size", "test_k8s_size"),
        ("", ""),
        ("   ", ""),
        (" A ", "_a"),
        ("größeÄnderung", "größeänderung"),
    ],
)
def test_golden_reported_keys(key: str, name: str) -> None:
    """Keys from public reports convert, empty and blank ones do not crash."""
    assert params.snake_case(key) == name


@given(st.text())
def test_snake_case_has_no_upper_case_letters(key: str) -> None:
    """Any text converts, and no ASCII capital, blank or dash is left."""
    assert not re.search(r"[A-Z \-]", params.snake_case(key))


@given(st.from_regex(r"[a-z]{2,8}([0-9]?_[a-z]{2,8})*", fullmatch=True))
def test_snake_case_keeps_snake_case(key: str) -> None:
    """A name that is in snake case already stays as it is."""
    assert params.snake_case(key) == key


def test_variables_in_order_of_writing() -> None:
    """Watch vars beat the spec and the operator's own, finalizer vars beat watch vars."""
    finalizer = watches.Finalizer("f", vars={"c": "finalizer"})
    keys: dict[str, Any] = {"vars": {"b": "watch", "c": "watch"}, "finalizer": finalizer}
    spec = {"aa": "spec", "b": "spec", "c": "spec"}
    assert {k: build(spec, **keys).variables[k] for k in ("aa", "b", "c")} == {
        "aa": "spec",
        "b": "watch",
        "c": "watch",
    }
    assert build(spec, True, **keys).variables["c"] == "finalizer"


def test_finalizing_without_a_finalizer_adds_nothing() -> None:
    """A watch without a finalizer has no finalizer vars."""
    assert build({}, True).variables == build({}).variables


def test_meta_is_the_operators() -> None:
    """A spec cannot set ansible_operator_meta, a watch can."""
    built = build({"ansible_operator_meta": {"name": "evil"}})
    assert built.variables["ansible_operator_meta"] == {"name": "n", "namespace": "ns"}
    assert any("spec.ansible_operator_meta" in note for note in built.notes)
    assert build({}, vars={"ansible_operator_meta": 1}).variables["ansible_operator_meta"] == 1


@pytest.mark.parametrize(
    ("gvk", "name"),
    [
        (objects.GVK("operator-with-dash.example.com", "v1", "Example"),
         "_operator_with_dash_example_com_example"),
        (objects.GVK("", "v1", "Secret"), "__secret"),
        (objects.GVK("cert-manager.k8s.io", "v1", "CertKind"), "_cert_manager_k8s_io_certkind"),
    ],
)  # fmt: skip
def test_object_variable(gvk: objects.GVK, name: str) -> None:
    """Dots and dashes become underscores, the kind is in lower case, core has an empty group."""
    assert params.object_variable(gvk) == name


def test_whole_object_and_spec_are_not_converted() -> None:
    """The whole object and the spec variable keep the keys as they are, at all depths."""
    spec = {"podTemplate": {"nodeSelector": {"a/b-c": "x"}}}
    built = build(spec).variables
    assert built["_cache_example_com_memcached"]["spec"] == spec
    assert built["_cache_example_com_memcached_spec"] == spec
    assert built["pod_template"] == {"node_selector": {"a/b_c": "x"}}


def test_conversion_off() -> None:
    """With snakeCaseParameters false the keys stay, also those that are no identifiers."""
    spec = {"fooBar": {"inNer": 1}, "my-key": 2, "1abc": 3, "": 4}
    built = build(spec, snake_case_parameters=False).variables
    assert {key: built[key] for key in spec} == spec


def test_conversion_goes_into_lists_and_leaves_values() -> None:
    """Maps in lists are converted, values are not."""
    assert build({"myList": [{"aKey": "aValue"}, "bValue", 1]}).variables["my_list"] == [
        {"a_key": "aValue"},
        "bValue",
        1,
    ]


@pytest.mark.parametrize(
    ("spec", "value", "loser"),
    [
        ({"fooBar": 1, "foo_bar": 2}, 2, "spec.fooBar"),
        ({"foo_bar": 2, "fooBar": 1}, 2, "spec.fooBar"),
        ({"foo-bar": 3, "foo bar": 4, "fooBar": 5}, 4, "spec.foo-bar"),
        ({"foo_bar": 2, "foo~": 0, "foo bar": 1, "zoo": 1}, 2, "spec.foo bar"),
    ],
)
def test_colliding_keys(spec: dict[str, int], value: int, loser: str) -> None:
    """The key spelled like the result wins, else the alphabetically first; a note names both."""
    built = build(spec)
    assert built.variables["foo_bar"] == value
    assert any(note.startswith(f"{loser} is not handed") for note in built.notes)


def test_colliding_keys_within_a_map() -> None:
    """Collisions are noticed at all depths, with the path."""
    built = build({"outer": [{"fooBar": 1, "foo_bar": 2}]})
    assert built.variables["outer"] == [{"foo_bar": 2}]
    assert "spec.outer[0].fooBar" in built.notes[0]


@pytest.mark.parametrize(
    "key",
    [
        "ansible_python_interpreter",
        "ansible_connection",
        "ansiblePythonInterpreter",
        "ansible-host",
        "ansible become",
        "_ansible_ansiballz_debugpy_config",
        "AnsibleFoo",
        "inventory_hostname",
        "inventoryHostname",
        "delegated_vars",
    ],
)
def test_connection_variables_are_dropped(key: str) -> None:
    """No spelling that becomes a connection variable reaches Ansible; a note names it."""
    built = build({key: "x"})
    assert not [name for name in built.variables if params.is_connection_variable(name)
                and name != "ansible_operator_meta"]  # fmt: skip
    assert built.variables["_cache_example_com_memcached_spec"] == {key: "x"}
    assert any(
        f"spec.{key} is" in note and "connection variables cannot be set" in note
        for note in built.notes
    )


def test_connection_variables_of_the_watch_stay() -> None:
    """Who writes watches.yaml may set the interpreter."""
    assert (
        build({}, vars={"ansible_connection": "local"}).variables["ansible_connection"] == "local"
    )


def test_mark_unsafe() -> None:
    """Strings of the object are wrapped, other values and the watch's vars are not."""
    built = build({"aa": "{{ x }}", "b": [1, "s", None, True]}, mark_unsafe=True,
                  vars={"meta": "{{ ansible_operator_meta }}"}).variables  # fmt: skip
    wrapped = {"__ansible_unsafe": "{{ x }}"}
    assert built["aa"] == wrapped
    assert built["b"] == [1, {"__ansible_unsafe": "s"}, None, True]
    assert built["_cache_example_com_memcached"]["spec"]["aa"] == wrapped
    assert built["_cache_example_com_memcached_spec"]["aa"] == wrapped
    assert built["meta"] == "{{ ansible_operator_meta }}"
    assert built["ansible_operator_meta"] == {"name": "n", "namespace": "ns"}


def test_everything_but_the_spec_is_always_unsafe() -> None:
    """Braces in status, annotations and data stay literal even without markUnsafe."""
    obj = {
        "kind": "Memcached",
        "metadata": {"name": "n", "annotations": {"a": "{{ 1 }}"}},
        "spec": {"aa": "{{ 2 }}"},
        "status": {"conditions": [{"message": "{{ 3 }}"}]},
    }
    whole = params.build(make_watch(), obj, False).variables["_cache_example_com_memcached"]
    assert whole["metadata"]["annotations"]["a"] == {"__ansible_unsafe": "{{ 1 }}"}
    assert whole["status"]["conditions"][0]["message"] == {"__ansible_unsafe": "{{ 3 }}"}
    assert whole["kind"] == {"__ansible_unsafe": "Memcached"}
    assert whole["spec"] == {"aa": "{{ 2 }}"}


@pytest.mark.parametrize(
    "key", ["__ansible_unsafe", "__ansible_vault", "__ansibleVault", "_-ansible unsafe"]
)
@pytest.mark.parametrize("mark_unsafe", [True, False])
def test_decoder_marks_of_an_object_are_dropped(key: str, mark_unsafe: bool) -> None:
    """Keys that Ansible's decoder would obey vanish, also if only the conversion makes them."""
    built = build({"aa": {key: 5, "b": 1}, key: "x", "l": [{key: 1}]}, mark_unsafe=mark_unsafe)
    spec = {k: built.variables[k] for k in built.variables if not k.startswith("_cache")}
    assert "__ansible" not in json.dumps(spec).replace('{"__ansible_unsafe": "', "")
    assert built.variables["aa"] == {"b": 1}
    assert any("Ansible's own marks" in note for note in built.notes)


@pytest.mark.parametrize("obj", [{}, {"spec": None}, {"metadata": {"name": "n"}}])
def test_object_without_spec(obj: objects.Obj) -> None:
    """No spec means an empty spec, without a note."""
    built = params.build(make_watch(), obj, False)
    assert built.variables["_cache_example_com_memcached_spec"] == {}
    assert built.notes == ()


def test_spec_that_is_not_a_map() -> None:
    """A spec that is no map gives no variables and a note."""
    built = build(["x"])
    assert built.variables["_cache_example_com_memcached_spec"] == {}
    assert built.notes == ("spec is not a map: no variables come from it",)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), JSON, max_size=6), st.booleans(), st.booleans())
def test_any_spec_builds(spec: dict[str, Any], unsafe: bool, snake: bool) -> None:
    """Whatever an object holds: JSON comes out, without connection variables, the same twice."""
    built = build(spec, mark_unsafe=unsafe, snake_case_parameters=snake)
    assert build(spec, mark_unsafe=unsafe, snake_case_parameters=snake) == built
    json.dumps(built.variables)
    theirs = set(built.variables) - {"ansible_operator_meta"}
    assert not any(params.is_connection_variable(name) for name in theirs)


def test_only_the_top_level_may_be_converted() -> None:
    """With snakeCaseTopLevelOnly free-form maps keep their keys (V3)."""
    built = build({"podLabels": {"appName": "a", "fooBar": 1}}, snake_case_top_level_only=True)
    assert built.variables["pod_labels"] == {"appName": "a", "fooBar": 1}


def nested(depth: int, inner: Any, as_list: bool = False) -> Any:
    """``inner`` below so many maps or lists."""
    for _ in range(depth):
        inner = [inner] if as_list else {"a": inner}
    return inner


@pytest.mark.parametrize("as_list", [False, True])
def test_what_is_nested_too_deep_is_left_out(as_list: bool) -> None:
    """Depth that makes Ansible's decoder give up does not reach it; a note says so."""
    built = build({"deep": nested(900, "x", as_list), "near": nested(90, "y", as_list)})
    assert len(json.dumps(built.variables)) < 20_000
    assert "y" in json.dumps(built.variables["near"])
    assert any("is nested more than 100 levels deep" in note for note in built.notes)


def test_notes_are_bounded() -> None:
    """Thousands of dropped keys give the first notes and a number."""
    built = build({f"__ansible_{n}": "x" for n in range(5000)})
    assert len(built.notes) == params.MAX_NOTES + 1
    assert built.notes[-1].startswith("... and ")
