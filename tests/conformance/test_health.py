"""The version, the health and the root of the server, which people ask with curl."""

from __future__ import annotations

import json
from typing import Any

import pytest
import wire


def test_the_version_is_of_the_api(server: wire.Server) -> None:
    """/version tells the release that the answers are like."""
    found = server.get("/version").body
    assert (found["major"], found["minor"]) == ("1", "37")
    assert found["gitVersion"].startswith("v1.37.")
    assert {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"} <= set(
        found
    )


@pytest.mark.parametrize("name", ["healthz", "livez", "readyz"])
def test_health_is_plain_text(server: wire.Server, name: str) -> None:
    """ok, or all checks with ?verbose; single checks have paths of their own."""
    short = server.get(f"/{name}")
    assert (short.code, short.text) == (200, "ok")
    assert short.headers["Content-Type"] == "text/plain; charset=utf-8"
    *checks, last = server.get(f"/{name}?verbose").text.splitlines()
    assert last == f"{name} check passed"
    assert "[+]ping ok" in checks
    assert all(check.startswith("[+]") and check.endswith(" ok") for check in checks)
    assert server.get(f"/{name}/ping").text == "ok"
    missing = server.get(f"/{name}/nosuch")
    assert (missing.code, missing.text) == (404, "404 page not found\n")


def test_the_root_lists_paths(server: wire.Server) -> None:
    """What is at the root of the server, for people with curl."""
    found: Any = json.loads(server.get("/").text)["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/apps/v1", "/healthz", "/version"} <= set(found)
