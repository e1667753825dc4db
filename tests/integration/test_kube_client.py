"""Requests over real HTTP: what goes out, how errors come back, how credentials are renewed."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubernetes import client as official

from ansible_operator import errors
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import connection, kubeconfig, streaming

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    """A server with one kind."""
    with fake_api.FakeApi(THING) as server:
        yield server


def write(path: Path, server: str, user: dict[str, Any], **cluster: Any) -> dict[str, str]:
    """Write a kubeconfig and return the environment that names it."""
    path.write_text(yaml.safe_dump(kubeconfig.document({"server": server, **cluster}, user)))
    return {"KUBECONFIG": str(path)}


def connect(api: fake_api.FakeApi, tmp_path: Path, **user: Any) -> kube_client.Client:
    """A client of the fake server."""
    return kube_client.Client.load(write(tmp_path / "config", api.url, user))


def test_answers_are_plain_dicts(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """What the server sent comes back unchanged, and we say who asks."""
    api.put(THING, {"metadata": {"name": "x", "namespace": "ns"}, "spec": {"a": [1, None, "ü"]}})
    client = connect(api, tmp_path, token="t")
    answer = client.request("GET", "/apis/test.example.com/v1/namespaces/ns/things/x")
    assert answer["spec"] == {"a": [1, None, "ü"]}
    assert client.server == api.url
    (seen,) = api.requests("GET")
    assert seen.headers["authorization"] == "Bearer t"
    assert seen.headers["user-agent"].startswith("ansible-operator/")
    client.close()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (kube_client.MERGE_PATCH, {"a": {"b": None}}),
        (kube_client.MERGE_PATCH, {}),
        (kube_client.JSON_PATCH, [{"op": "test", "path": "/a", "value": None}]),
        (kube_client.JSON_PATCH, []),
    ],
)
def test_bodies_and_content_types_go_out_as_asked(
    api: fake_api.FakeApi, tmp_path: Path, content_type: str, body: Any
) -> None:
    """A patch is not rewritten into another kind of patch, whatever its shape."""
    api.fail("PATCH", "/x", 409)
    with pytest.raises(errors.ConflictError):
        connect(api, tmp_path).request("PATCH", "/x", body=body, content_type=content_type)
    (seen,) = api.requests("PATCH")
    assert (seen.headers["content-type"], seen.body) == (content_type, body)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidError),
        (401, errors.UnauthorizedError),
        (403, errors.ForbiddenError),
        (404, errors.NotFoundError),
        (409, errors.ConflictError),
        (410, errors.KubeError),
        (422, errors.InvalidError),
        (429, errors.ServerError),
        (500, errors.ServerError),
        (503, errors.ServerError),
    ],
)
def test_errors_are_mapped_by_status(
    api: fake_api.FakeApi, tmp_path: Path, status: int, kind: type[errors.KubeError]
) -> None:
    """The text has the server's words, the verb, the path, the server and the status."""
    api.fail("GET", "/api/v1/things", status, message="because of the moon")
    with pytest.raises(errors.KubeError) as caught:
        connect(api, tmp_path).request("GET", "/api/v1/things", query={"limit": "1"})
    assert type(caught.value) is kind
    assert caught.value.status == status
    for part in ("because of the moon", "GET /api/v1/things", api.url, str(status)):
        assert part in str(caught.value)


def test_rejected_fields_are_named(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """The causes of an Invalid answer are kept as field paths."""
    strict = fake_api.Kind(
        "strict.example.com", "v1", "Thing", "things", validate=lambda obj: ["status.a", "spec.b"]
    )
    api.serve(strict)
    api.put(strict, {"metadata": {"name": "x", "namespace": "ns"}})
    with pytest.raises(errors.InvalidError) as caught:
        connect(api, tmp_path).request(
            "PATCH",
            "/apis/strict.example.com/v1/namespaces/ns/things/x",
            body={"spec": {}},
            content_type=kube_client.MERGE_PATCH,
        )
    assert caught.value.fields == ("status.a", "spec.b")
    assert caught.value.reason == "Invalid"


def test_an_answer_that_is_not_json_is_an_error(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """Both as success (a login page) and as failure (a proxy)."""
    assert kube_client.failure(502, None, "GET /", "").args[0].startswith("the server gave no")
    environ = write(tmp_path / "config", api.url, {})
    client = kube_client.Client.load(environ)
    api.fail("GET", "/page", 200)
    assert client.request("GET", "/page")["kind"] == "Status"
    with pytest.raises(errors.KubeError, match="is it the URL of a Kubernetes API server"):
        client._parse(_Answer(200, b"<html>"), "GET /")  # type: ignore[arg-type]


class _Answer:
    def __init__(self, status: int, data: bytes) -> None:
        self.status, self.data = status, data


def test_no_answer_names_server_and_cause(tmp_path: Path) -> None:
    """A closed port is an UnreachableError that a person can act on."""
    with fake_api.FakeApi() as server:
        url = server.url
    client = kube_client.Client.load(write(tmp_path / "config", url, {}))
    with pytest.raises(errors.UnreachableError) as caught:
        client.request("GET", "/api")
    assert str(caught.value).startswith(f"no answer from {url}: ")
    assert "Connection refused" in str(caught.value)
    assert "object at 0x" not in str(caught.value)


def test_a_slow_answer_times_out(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """Every request has a limit; the default cannot be forgotten."""
    api.put(THING, {"metadata": {"name": "x", "namespace": "ns"}})
    client = connect(api, tmp_path)
    assert kube_client.TIMEOUT == (10.0, 60.0)
    with pytest.raises(errors.UnreachableError):
        client.request(
            "GET",
            "/apis/test.example.com/v1/things",
            query={"watch": "true", "resourceVersion": "100000"},
            timeout=(1.0, 0.2),
        )


def test_a_broken_connection_is_tried_again_once(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """One reset does not fail a guarded request, and a POST is never repeated."""
    client = connect(api, tmp_path)
    api.fail("GET", "/api$", fake_api.RESET, times=1)
    assert client.request("GET", "/api")["versions"] == ["v1"]
    api.fail("POST", "/apis/x", fake_api.RESET, times=1)
    with pytest.raises(errors.UnreachableError):
        client.request("POST", "/apis/x", body={})
    assert len(api.requests("POST")) == 1


def test_retry_after_is_obeyed(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """A server that asks to come back is asked again instead of failing the pass."""
    fault = api.fail("GET", "/api$", 429, times=2, headers={"Retry-After": "0"})
    assert connect(api, tmp_path).request("GET", "/api")["versions"] == ["v1"]
    assert fault.times == 0


def test_a_rotated_token_file_is_picked_up(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """The server refuses the old token; the new one is read and the request repeated."""
    token = tmp_path / "token"
    token.write_text("old\n")
    api.tokens = {"old"}
    client = connect(api, tmp_path, tokenFile=str(token))
    client.request("GET", "/api")
    token.write_text("new\n")
    api.tokens = {"new"}
    assert client.request("GET", "/api")["versions"] == ["v1"]
    assert client.connection().authorization == "Bearer new"


def test_an_exec_plugin_is_asked_again_when_its_token_ends(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """Credentials that a program hands out are renewed like those in files."""
    counter = tmp_path / "counter"
    script = tmp_path / "login.py"
    script.write_text(
        "import json, pathlib\n"
        f"p = pathlib.Path({str(counter)!r})\n"
        "n = int(p.read_text()) + 1 if p.exists() else 1\n"
        "p.write_text(str(n))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
        " 'kind': 'ExecCredential', 'status': {'token': f't{n}'}}))\n"
    )
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(script)],
        "interactiveMode": "Never",
    }
    api.tokens = {"t1"}
    client = connect(api, tmp_path, exec=plugin)
    client.request("GET", "/api")
    api.tokens = {"t2"}
    client.request("GET", "/api")
    assert counter.read_text() == "2"


def test_credentials_that_stay_wrong_are_an_error_that_names_them(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """Also when they can no longer be read at all."""
    api.tokens = {"right"}
    client = connect(api, tmp_path, token="wrong")
    with pytest.raises(errors.UnauthorizedError, match=str(tmp_path / "config")):
        client.request("GET", "/api")
    (tmp_path / "config").unlink()
    with pytest.raises(errors.UnauthorizedError):
        client.request("GET", "/api")


def test_credentials_that_cannot_be_read_again_are_an_error_of_the_request(
    tmp_path: Path,
) -> None:
    """An empty, missing or garbled token file fails requests in words, until it is whole again."""
    context, _ = authority(tmp_path)
    token = tmp_path / "token"
    token.write_text("good")
    with fake_api.FakeApi(tls=context) as server:
        environ = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "HOME": str(tmp_path),
        }
        client = kube_client.Client.load(environ, service_account=tmp_path)
        for spoil in (lambda: token.write_text(""), token.unlink, lambda: token.write_text("a\nb")):
            spoil()
            expire(client)
            with pytest.raises(errors.UnauthorizedError) as caught:
                client.request("GET", "/api")
            for part in ("GET /api", server.url, f"service account in {tmp_path}"):
                assert part in str(caught.value)
            with pytest.raises(errors.ConfigError):
                client.connection()
        assert "a\nb" not in str(caught.value)
        token.write_text("new")
        expire(client)
        client.request("GET", "/api")
        assert server.seen[-1].headers["authorization"].lower() == "bearer new"
        client.close()


def expire(client: kube_client.Client) -> None:
    """Make the token due to be read again, as it is after a minute."""
    hook = client._session.configuration.refresh_api_key_hook
    (loader,) = [
        cell.cell_contents
        for cell in hook.__closure__
        if hasattr(cell.cell_contents, "token_expires_at")
    ]
    loader.token_expires_at = datetime.datetime.min


def test_whatever_a_login_plugin_raises_is_a_config_error() -> None:
    """The official client lets every error of its plugins through."""

    def fail(_: Any) -> None:
        raise ZeroDivisionError("of the plugin")

    configuration: Any = official.Configuration()
    configuration.refresh_api_key_hook = fail
    with pytest.raises(errors.ConfigError, match="of the plugin"):
        connection.facts(configuration)


def test_many_threads_share_one_client(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """While the token changes under 32 threads, none of them fails."""
    token = tmp_path / "token"
    token.write_text("a")
    api.tokens = {"a"}
    client = connect(api, tmp_path, tokenFile=str(token))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                client.request("GET", "/api")
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    token.write_text("b")
    api.tokens = {"b"}
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_proxy_is_used_unless_no_proxy_says_otherwise(
    api: fake_api.FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """proxy-url of the kubeconfig counts, and NO_PROXY is honoured."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    environ = write(tmp_path / "c", "http://api.test.invalid:1234", {}, **{"proxy-url": api.url})
    client = kube_client.Client.load(environ)
    assert client.request("GET", "/api")["versions"] == ["v1"]
    assert client.connection().proxy == api.url
    monkeypatch.setenv("NO_PROXY", "test.invalid")
    direct = kube_client.Client.load(environ)
    assert direct.connection().proxy is None
    with pytest.raises(errors.UnreachableError):
        direct.request("GET", "/api")


def authority(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """A self-signed certificate for the loopback address, as server context and as file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_path, key_path = directory / "ca.crt", directory / "tls.key"
    cert_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert_path, key_path)
    return context, cert_path


def test_a_private_authority_is_trusted_only_if_it_is_configured(tmp_path: Path) -> None:
    """TLS is verified; the message of a failure says so; it can be turned off on purpose."""
    context, ca = authority(tmp_path)
    with fake_api.FakeApi(tls=context) as server:
        trusted = write(tmp_path / "a", server.url, {}, **{"certificate-authority": "ca.crt"})
        assert kube_client.Client.load(trusted).request("GET", "/api")["versions"] == ["v1"]
        assert kube_client.Client.load(trusted).connection().ca_file == str(ca)
        plain = write(tmp_path / "b", server.url, {})
        with pytest.raises(errors.UnreachableError, match="certificate verify failed"):
            kube_client.Client.load(plain).request("GET", "/api")
        loose = write(tmp_path / "c", server.url, {}, **{"insecure-skip-tls-verify": True})
        with pytest.warns(Warning, match="Unverified HTTPS"):  # urllib3 says so, as it should
            kube_client.Client.load(loose).request("GET", "/api")


def test_in_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    """Server from the environment, token and authority from the mounted directory."""
    context, _ = authority(tmp_path)
    (tmp_path / "token").write_text("pod-token")
    with fake_api.FakeApi(tls=context) as server:
        environ = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "HOME": str(tmp_path),
        }
        server.tokens = {"pod-token"}
        client = kube_client.Client.load(environ, service_account=tmp_path)
        assert client.server == server.url
        client.request("GET", "/api")
        (tmp_path / "token").write_text("rotated")
        server.tokens = {"rotated"}
        client.request("GET", "/api")
        client.close()


def test_precedence_of_credentials(tmp_path: Path) -> None:
    """KUBECONFIG, then the service account, then the file in HOME, as the incumbent."""
    account = tmp_path / "account"
    account.mkdir()
    (tmp_path / ".kube").mkdir()
    file = tmp_path / "config"
    file.write_text("{}")
    pod = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}
    home = {"HOME": str(tmp_path)}
    with pytest.raises(errors.ConfigError, match=r"Set KUBECONFIG"):
        connection.locate({**pod, **home}, account)
    (tmp_path / ".kube" / "config").write_text("{}")
    assert str(connection.locate({**pod, **home}, account)) == f"kubeconfig {tmp_path}/.kube/config"
    (account / "token").write_text("t")
    (account / "ca.crt").write_text("c")
    inside = connection.locate({**pod, **home}, account)
    assert isinstance(inside, connection.InCluster)
    assert inside.server == "https://[::1]:443"
    named = {**pod, **home, "KUBECONFIG": f"/missing:{file}"}
    assert connection.locate(named, account) == connection.Kubeconfig(f"/missing:{file}")
    with pytest.raises(errors.ConfigError, match="KUBECONFIG names /missing, which does not exist"):
        connection.locate({**named, "KUBECONFIG": "/missing"}, account)


@pytest.mark.parametrize("text", ["", "[]", "a: [", "current-context: x", "7"])
def test_a_broken_kubeconfig_is_a_config_error(tmp_path: Path, text: str) -> None:
    """Whatever is in the file, the error names the file and nothing crashes."""
    path = tmp_path / "config"
    path.write_text(text)
    environ = {"KUBECONFIG": str(path)}
    with pytest.raises(errors.ConfigError, match=str(path)):
        kube_client.Client.load(environ)


def test_a_stream_is_read_line_by_line(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """As the lines come; a token that is refused is read again first."""
    token = tmp_path / "token"
    token.write_text("old")
    client = connect(api, tmp_path, tokenFile=str(token))
    client.request("GET", "/apis")
    api.tokens = {"new"}
    token.write_text("new")
    path = "/apis/test.example.com/v1/things"
    with client.stream(path, query={"watch": "true"}, timeout=(5, 30)) as stream:
        lines = stream.lines()
        for name in ("a", "b"):
            api.put(THING, {"metadata": {"name": name, "namespace": "ns"}})
            assert f'"name": "{name}"' in next(lines).decode()
        api.utter(b"1\n\n  \n2\n3", raw=False)
        assert [next(lines), next(lines)] == [b"1", b"2"]
    with client.stream(path, query={}) as stream:
        assert b'"name": "b"' in stream.read()
    client.close()


def test_a_stream_that_is_refused_says_why_and_until_when(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """It is asked for once; Retry-After comes with the error."""
    client = connect(api, tmp_path, token="t")
    api.fail("GET", "/x", 429, message="too many", headers={"Retry-After": "7"})
    with pytest.raises(errors.ServerError, match="too many") as caught:
        client.stream("/x", query={})
    assert caught.value.retry_after == 7
    assert len(api.requests("GET", "/x")) == 1
    api.fail("GET", "/y", fake_api.RESET)
    with pytest.raises(errors.UnreachableError):
        client.stream("/y", query={})
    client.close()


def test_what_is_interrupted_fails_and_so_does_what_follows(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """A thread that waits for an answer is woken; other threads are not."""
    client = connect(api, tmp_path, token="t")
    api.fail("GET", "/hangs", fake_api.HANG)
    interrupt = streaming.Interrupt()
    failures: list[errors.KubeError] = []

    def ask() -> None:
        with interrupt.bound():
            for path in ("/hangs", "/apis"):
                with pytest.raises(errors.UnreachableError) as caught:
                    client.stream(path, query={})
                failures.append(caught.value)

    thread = threading.Thread(target=ask)
    thread.start()
    while not api.requests("GET", "/hangs"):
        interrupt.wait(0.01)
    interrupt.set()
    thread.join(30)
    assert not thread.is_alive()
    assert len(failures) == 2
    assert client.request("GET", "/apis")["kind"] == "APIGroupList"
    client.close()
