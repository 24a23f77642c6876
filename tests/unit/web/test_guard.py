"""Requests that other sites, other hosts and hostile clients send, and the headers of answers."""

from __future__ import annotations

import asyncio
import inspect
import socket
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from fastbpe.web import answers, app, guard, live_training, server
from fastbpe.web.guard import POLICY, Guard
from fastbpe.web.server import LOOPBACK, WebServer

HOST = "127.0.0.1:8123"
ENCODE = "/api/encode?with=0"


@pytest.mark.parametrize("host", [HOST, "localhost:8123", "LocalHost:8123"])
def test_own_host_passes(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8123",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8124",
        "localhost",
        "127.0.0.1:8123.evil.example",
        "evil.example@127.0.0.1:8123",
        "127.0.0.1:8123 ",
        "0.0.0.0:8123",
        "[::1]:8123",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/page", "/nothing"])
def test_foreign_host_is_refused_everywhere(client: TestClient, host: str, path: str) -> None:
    """DNS rebinding: another name that resolves to this machine."""
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "Host" in answer.text


@pytest.mark.parametrize("headers", [[], [(b"host", HOST.encode()), (b"host", b"evil.example")]])
def test_missing_or_second_host_is_refused(client: TestClient, headers: list[tuple[bytes, bytes]]) -> None:
    assert status_of(client.app, headers) == 421


def status_of(application: Any, headers: list[tuple[bytes, bytes]]) -> int:
    """Send a request with exactly these headers."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(application({**scope, "root_path": "", "http_version": "1.1", "scheme": "http"}, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:9", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_foreign_origin_is_refused(client: TestClient, origin: str, method: str) -> None:
    answer = client.request(method, ENCODE, headers={"Origin": origin})
    assert answer.status_code == 403


def test_origin_with_another_name_of_this_machine_is_refused(client: TestClient) -> None:
    answer = client.post(ENCODE, headers={"Host": HOST, "Origin": "http://localhost:8123"})
    assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_request_of_another_site_is_refused_without_origin(client: TestClient, site: str) -> None:
    for path in ("/", "/static/main.js", "/api/page"):
        assert client.get(path, headers={"Sec-Fetch-Site": site}).status_code == 403


def test_link_from_another_site_opens_the_page_and_nothing_else(client: TestClient) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/api/page", headers=link).status_code == 403
    assert client.post("/", headers=link).status_code == 403
    assert client.get("/", headers={**link, "Sec-Fetch-Dest": "iframe"}).status_code == 403


@pytest.mark.parametrize("headers", [{"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}, {}])
def test_own_page_passes(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post(ENCODE, content=b"ab", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, "/api/encode")
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_websocket_is_refused(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/page"):
        raise AssertionError("it was accepted")


def test_body_beyond_the_limit_is_refused_by_its_length(client_of, small) -> None:
    client = client_of(small, max_body_bytes=100)
    assert client.post(ENCODE, content=b"a" * 100).status_code == 200
    answer = client.post(ENCODE, content=b"a" * 101)
    assert (answer.status_code, answer.text) == (413, "a request can contain at most 100 bytes\n")


def test_body_with_a_length_of_thousands_of_digits_is_refused(client_of, small) -> None:
    answer = client_of(small).post("/api/tokenize", headers={"Content-Length": "9" * 5000})
    assert answer.status_code == 413


def test_body_beyond_the_limit_is_refused_without_a_length(client_of, small) -> None:
    client = client_of(small, max_body_bytes=100)
    answer = client.post(ENCODE, content=(b"a" * 60 for _ in range(3)))
    assert answer.status_code == 413


def test_every_answer_has_the_headers(client: TestClient) -> None:
    answers_ = [
        client.get("/"),
        client.get("/static/main.js"),
        client.get("/api/page"),
        client.post(ENCODE, content=b"ab"),
        client.get("/nothing"),
        client.get("/", headers={"Host": "evil.example"}),
        client.post(ENCODE, content=b"\xff"),
    ]
    assert {answer.status_code for answer in answers_} == {200, 404, 421, 400}
    for answer in answers_:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_policy_allows_no_inline_script_and_no_other_host() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    for name in ("script-src", "style-src", "img-src", "connect-src"):
        assert rules[name] == "'self'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_server_listens_at_the_loopback_interface_only() -> None:
    server_ = WebServer([])
    try:
        assert server_._socket.getsockname() == (LOOPBACK, server_.port)
        assert LOOPBACK == "127.0.0.1"
        assert server_.address == f"http://127.0.0.1:{server_.port}/"
    finally:
        server_._socket.close()


def test_connections_send_the_body_of_an_answer_at_once() -> None:
    server_ = WebServer([])
    with server_._socket as listening, socket.create_connection((LOOPBACK, server_.port)):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_taken_port_raises_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        WebServer([], port=taken.getsockname()[1])


def test_nothing_that_a_request_names_is_opened() -> None:
    """The server opens only static files and a temporary folder."""
    opening = ("open(", "Path(", "read_bytes", "read_text", "write_")
    lines = [
        line.strip()
        for module in (app, answers, guard, server, live_training)
        for line in inspect.getsource(module).splitlines()
        if any(call in line for call in opening) and "webbrowser.open" not in line
    ]
    assert lines == [
        'yield Route(path, _sender(file.read_bytes(), kind), methods=["GET"])',
        'path = Path(folder, "trained.fbpe")',
        "return path.read_bytes()",
    ]


def test_lifespan_passes_through() -> None:
    seen: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(Guard(inner, port=1)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]
