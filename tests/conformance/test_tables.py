"""Tables: what `kubectl get` prints is worked out by the server, column by column."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import wire
import yaml

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
FACTS = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text())
PATTERNS = {
    "AGE": r"\d+s|<unknown>",
    "LONG": r"[5-9]y(\d+d)?|\d\dy",
    "TIME": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "ANY": r".+",
}
NOT_ACCEPTABLE = "only the following media types are accepted: application/json, application/yaml"


def table(server: wire.Server, path: str, **query: Any) -> wire.Obj:
    """A Table of what is at a path."""
    found = server.get(path, accept=TABLE, **query)
    assert found.code == 200, found.text
    assert found.body["kind"] == "Table"
    return dict(found.body)


def described(column: wire.Obj) -> str:
    """A column as tables.yaml writes it."""
    wide = "+" if column["priority"] else ""
    kind = "" if column["type"] == "string" else f":{column['type']}"
    return f"{wide}{column['name']}{kind}"


def alike(cell: Any, wanted: Any) -> bool:
    """Whether a cell is what tables.yaml says."""
    pattern = PATTERNS.get(wanted) if isinstance(wanted, str) else None
    if pattern is not None:
        return re.fullmatch(pattern, cell) is not None
    return bool(cell == wanted and type(cell) is type(wanted))


@pytest.mark.parametrize("path", FACTS["columns"])
def test_built_in_kinds_have_the_columns_that_kubectl_users_know(
    server: wire.Server, path: str
) -> None:
    """Names, types and priorities of the columns, in their order."""
    found = table(server, path, limit=1)["columnDefinitions"]
    assert [described(column) for column in found] == FACTS["columns"][path].split(" | ")
    name = next(column for column in found if column["name"] == "Name")
    assert name["format"] == "name"
    if not name["priority"]:
        assert name["description"].startswith("Name must be unique within a namespace.")
    assert all(set(c) == {"name", "type", "format", "description", "priority"} for c in found)


def test_cells_show_what_an_object_is_at(server: wire.Server, ns: str) -> None:
    """Counts, addresses, selectors, references and ages are in short words."""
    for fact in FACTS["objects"]:
        path = fact["path"].replace("NS", ns)
        body = yaml.safe_load(yaml.safe_dump(fact["object"]).replace("NS", ns))
        made = server.post(path, body)
        assert made.code == 201, made.text
        at = f"{path}/{body['metadata']['name']}"
        if fact["cells"][1] == "Suspended":
            server.until(at, lambda job: job.get("status", {}).get("conditions"))
        cells = table(server, at)["rows"][0]["cells"]
        assert len(cells) == len(fact["cells"]), (at, cells)
        pairs = zip(cells, fact["cells"], strict=True)
        wrong = [(cell, wanted) for cell, wanted in pairs if not alike(cell, wanted)]
        assert not wrong, (at, wrong)


def test_a_pods_status_says_what_holds_it_up(server: wire.Server, ns: str) -> None:
    """Readiness, the reason of its state, and restarts with the time since the last one."""
    pods = f"/api/v1/namespaces/{ns}/pods"
    spec = {
        "nodeSelector": {"no": "where"},
        "readinessGates": [{"conditionType": "example.com/open"}],
        "initContainers": [{"name": "i", "image": "i"}, {"name": "j", "image": "j"}],
        "containers": [{"name": "c", "image": "c"}, {"name": "d", "image": "d"}],
    }
    assert server.post(pods, {"metadata": {"name": "p"}, "spec": spec}).code == 201

    def shown(**status: Any) -> list[Any]:
        changed = server.patch(f"{pods}/p/status", {"status": status})
        assert changed.code == 200, changed.text
        cells = table(server, f"{pods}/p")["rows"][0]["cells"]
        return [*cells[1:4], *cells[5:]]

    def container(name: str, restarts: int = 0, ready: bool = False, **state: Any) -> wire.Obj:
        common = {"name": name, "image": name, "imageID": "", "ready": ready}
        return {**common, "restartCount": restarts, "state": state}

    nowhere = ["<none>", "<none>", "<none>", "0/1"]
    assert shown() == ["0/2", "Pending", "0", *nowhere]
    done = container("i", terminated={"exitCode": 0, "reason": "Completed"})
    waits = container("j", waiting={"reason": "PodInitializing"})
    assert shown(initContainerStatuses=[done, waits])[:2] == ["0/2", "Init:1/2"]
    failed = container("j", terminated={"exitCode": 3})
    assert shown(initContainerStatuses=[done, failed])[1] == "Init:ExitCode:3"
    pulls = container("j", waiting={"reason": "ImagePullBackOff"})
    assert shown(initContainerStatuses=[done, pulls])[1] == "Init:ImagePullBackOff"
    ended = [done, container("j", terminated={"exitCode": 0, "reason": "Completed"})]
    runs = container("c", ready=True, running={"startedAt": "2026-01-01T00:00:00Z"})
    crashes = container("d", restarts=2, waiting={"reason": "CrashLoopBackOff"})
    crashes["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": "2020-01-01T00:00:00Z"}}
    found = shown(
        phase="Running", initContainerStatuses=ended, containerStatuses=[runs, crashes], podIP="::1"
    )
    assert found[:2] == ["1/2", "CrashLoopBackOff"]
    assert re.fullmatch(r"2 \(\d+y\d*d? ago\)", found[2])
    both = [runs, container("d", ready=True, running={"startedAt": "2026-01-01T00:00:00Z"})]
    opened = [{"type": "example.com/open", "status": "True"}]
    found = shown(containerStatuses=both, conditions=opened)
    assert (found[0], found[1], found[-1]) == ("2/2", "Running", "1/1")
    assert shown(phase="Failed", reason="Evicted", containerStatuses=[])[1] == "Evicted"


def test_rows_carry_as_much_of_the_object_as_is_asked_for(server: wire.Server, ns: str) -> None:
    """Metadata unless told otherwise, the whole Object, or None; anything else is a bad request."""
    made = server.post(wire.configmaps(ns), wire.configmap("a", {"k": "v"}, labels={"l": "m"})).body
    path, version = wire.configmaps(ns, "a"), made["metadata"]["resourceVersion"]
    found = table(server, path)
    assert found["metadata"] == {"resourceVersion": version}
    assert found["apiVersion"] == "meta.k8s.io/v1"
    meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert found["rows"][0]["object"] == {**meta, "metadata": made["metadata"]}
    assert table(server, path, includeObject="Metadata")["rows"] == found["rows"]
    assert table(server, path, includeObject="None")["rows"][0]["object"] is None
    assert table(server, path, includeObject="Object")["rows"][0]["object"] == made
    wrong = server.get(path, accept=TABLE, includeObject="x")
    assert (wrong.code, wrong.body["reason"]) == (400, "BadRequest")
    assert wrong.body["message"] == (
        "Unable to convert to Table as requested: includeObject: Invalid value: "
        "\"x\": must be 'Metadata', 'Object', 'None', or empty"
    )


def test_tables_are_one_of_the_forms_that_a_client_can_accept(server: wire.Server, ns: str) -> None:
    """The first form in Accept that the server knows is what comes back; errors stay a Status."""
    server.post(wire.configmaps(ns), wire.configmap("a"))
    path = wire.configmaps(ns, "a")
    beta = TABLE.replace("v=v1;", "v=v1beta1;")
    assert server.get(path, accept=f"{TABLE},application/json").body["kind"] == "Table"
    assert server.get(path, accept=beta).body["apiVersion"] == "meta.k8s.io/v1beta1"
    later = TABLE.replace("v=v1;", "v=v2;")
    assert server.get(path, accept=f"{later},application/json").body["kind"] == "ConfigMap"
    refused = server.get(path, accept=later)
    assert (refused.code, refused.body["reason"]) == (406, "NotAcceptable")
    assert refused.body["message"].startswith(NOT_ACCEPTABLE)
    written = server.get(path, accept=TABLE.replace("json", "yaml"))
    assert written.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(written.text)["kind"] == "Table"
    missing = server.get(wire.configmaps(ns, "b"), accept=TABLE)
    assert (missing.code, missing.body["kind"]) == (404, "Status")


def test_objects_can_be_asked_for_without_anything_but_metadata(
    server: wire.Server, ns: str
) -> None:
    """PartialObjectMetadata of an object, and a list of them."""
    made = server.post(wire.configmaps(ns), wire.configmap("a", {"k": "v"})).body
    meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    found = server.get(wire.configmaps(ns, "a"), accept=PARTIAL)
    assert found.body == {**meta, "metadata": made["metadata"]}
    listed = server.get(wire.configmaps(ns), accept=PARTIAL_LIST).body
    assert listed["kind"] == "PartialObjectMetadataList"
    assert {**meta, "metadata": made["metadata"]} in listed["items"]
    assert "resourceVersion" in listed["metadata"]


def test_a_list_as_table_has_pages_and_may_be_empty(server: wire.Server, ns: str) -> None:
    """Table metadata carry continue and the remaining count; no rows are an empty list."""
    for name in ("a", "b"):
        server.post(wire.configmaps(ns), wire.configmap(name, labels={"l": "m"}))
    first = table(server, wire.configmaps(ns), limit=1)
    rest = table(
        server, wire.configmaps(ns), limit=5, **{"continue": first["metadata"]["continue"]}
    )
    assert first["metadata"]["remainingItemCount"] >= 1
    assert [row["cells"][0] for row in first["rows"] + rest["rows"]][:2] == ["a", "b"]
    assert table(server, wire.configmaps(ns), labelSelector="no=such")["rows"] == []
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
    assert table(server, roles)["rows"] is None


def test_a_watch_can_send_tables(server: wire.Server, ns: str) -> None:
    """Every event is a table of one row; only the first describes the columns."""
    for name in ("a", "b"):
        server.post(wire.configmaps(ns), wire.configmap(name, labels={"l": "m"}))
    server.delete(wire.configmaps(ns, "b"))
    seen = list(
        server.watch(
            wire.configmaps(ns),
            seconds=1,
            labelSelector="l=m",
            allowWatchBookmarks="true",
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            accept=TABLE,
        )
    )
    first, mark = seen[0], seen[1]
    assert (first["type"], first["object"]["kind"]) == ("ADDED", "Table")
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert first["object"]["rows"][0]["cells"][:2] == ["a", 0]
    assert first["object"]["rows"][0]["object"]["metadata"]["name"] == "a"
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["columnDefinitions"] is None
    row = mark["object"]["rows"][0]
    assert row["cells"] == ["", 0, "<unknown>"]
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
