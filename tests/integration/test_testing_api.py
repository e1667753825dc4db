"""Requests of the testing package, against a real HTTP server."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_operator.testing import api, errors

NO_CA = Path("/nonexistent")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names, and with what was asked."""

    def answer(self) -> None:
        """One answer for all methods."""
        length = int(self.headers.get("Content-Length") or 0)
        asked = {
            "message": "as asked",
            "method": self.command,
            "path": self.path,
            "token": self.headers.get("Authorization"),
            "body": self.rfile.read(length).decode(),
        }
        body = b"not json" if "garbage" in self.path else json.dumps(asked).encode()
        self.send_response(int(self.path.strip("/")[:3]))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The URL of a server on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_get_returns_status_and_body(server: str) -> None:
    """The query is kept, the token is sent."""
    status, body = api.get(f"{server}/503/x?verbose=1", None, "secret")
    assert status == 503
    found = json.loads(body)
    assert (found["path"], found["token"]) == ("/503/x?verbose=1", "Bearer secret")


def test_get_without_a_server_is_status_0() -> None:
    """Not being there yet is an answer, not an error."""
    assert api.get("http://127.0.0.1:1/", None) == (0, b"")
    assert api.get("https://127.0.0.1:1/", NO_CA) == (0, b"")


def test_send_returns_the_object(server: str) -> None:
    """A JSON body goes out, a JSON object comes back."""
    found = api.Client(server, NO_CA, "t").send("POST", "/201/y", {"a": 1})
    assert (found["method"], json.loads(found["body"])) == ("POST", {"a": 1})


def test_send_raises_with_the_server_s_message(server: str) -> None:
    """A refusal carries method, URL, status and the server's words."""
    with pytest.raises(errors.ControlPlaneError, match=r"DELETE http.*/403/z: 403 as asked"):
        api.Client(server, NO_CA, "t").send("DELETE", "/403/z")


def test_ask_returns_any_status(server: str) -> None:
    """A caller that expects a conflict can look at it."""
    status, found = api.Client(server, NO_CA, "").ask("GET", "/409/z")
    assert (status, found["token"]) == (409, None)


@pytest.mark.parametrize("path", ["/200/garbage"])
def test_answer_that_is_no_json_is_an_error(server: str, path: str) -> None:
    """It is told with method and URL."""
    with pytest.raises(errors.ControlPlaneError, match=r"GET http.*garbage"):
        api.Client(server, NO_CA, "").ask("GET", path)


def test_unreachable_server_is_an_error() -> None:
    """It is told with method and URL."""
    with pytest.raises(errors.ControlPlaneError, match=r"GET http://127.0.0.1:1/x"):
        api.Client("http://127.0.0.1:1", NO_CA, "").send("GET", "/x")
