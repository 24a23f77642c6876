"""Guard: refuses requests from other sites, or with a wrong host, method or size, and sets headers of responses.

A page of another site can make a browser send requests to a local server, but it cannot set three headers. Host
is the address that the browser used, which reveals DNS rebinding; Origin and Sec-Fetch-Site tell which page sent
the request. The guard checks all three.
"""

from __future__ import annotations

import contextlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fastbpe._utils.arguments import decimal

MAX_BODY_BYTES = 16 << 20  # bytes: longest body of a request
METHODS = ("GET", "HEAD", "POST")
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
#: Headers of every response.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware that refuses requests of other web sites.

    It refuses a wrong Host header, an Origin or (except for a link to the page) a Sec-Fetch-Site of another site,
    methods outside METHODS, websockets, and bodies that are too large.

    Args:
        app: the application.
        port: int – port of the server, which the Host header must contain.
        max_body_bytes: int – maximum size of a body; a larger one gets the status 413.
    """

    def __init__(self, app: ASGIApp, *, port: int, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        names = ("127.0.0.1", "localhost")
        # Browsers leave out port 80, the default of http.
        self._hosts = {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":  # from starlette's TestClient; `WebServer` turns these events off
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket; `WebServer` turns these off, too
            await send({"type": "websocket.close", "code": 1008})  # violation of policy
            return
        body = _Body(receive, self._max_body_bytes)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        async def send_unless_too_large(message: Message) -> None:
            if not body.is_too_large:
                await send_guarded(message)

        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        with contextlib.suppress(ClientDisconnect):
            await self._app(scope, body.receive, send_unless_too_large)
        if body.is_too_large:
            await self._too_large()(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> PlainTextResponse | None:
        """Return the response that refuses a request; None if the request may pass."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _text(421, "the Host header is not the address of this server")
        if scope["method"] not in METHODS:
            return _text(405, f"the method must be one of {', '.join(METHODS)}")
        if any(origin != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return _text(403, "the Origin header names another site")
        sites = {site for site in headers.getlist("sec-fetch-site") if site not in ("same-origin", "none")}
        if sites and not _opens_the_page(scope, headers):
            return _text(403, "another site made this request")
        lengths = headers.getlist("content-length")
        # At once, before the body comes; `_Body` counts the bytes of a body without this header.
        if any(length.isdecimal() and decimal(length) > self._max_body_bytes for length in lengths):
            return self._too_large()
        return None

    def _too_large(self) -> PlainTextResponse:
        return _text(413, f"a request can contain at most {self._max_body_bytes:,} bytes")


class _Body:
    """Receiver that counts the bytes of a body, because a request need not declare the body's length.

    Instead of a body that is too large, the application receives a disconnect.
    """

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._left = receive, limit

    @property
    def is_too_large(self) -> bool:
        return self._left < 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.is_too_large else message


def _opens_the_page(scope: Scope, headers: Headers) -> bool:
    """Tell whether a request comes from a followed link to the page itself."""
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return is_link and scope["method"] == "GET" and scope["path"] == "/"


def _text(status: int, reason: str) -> PlainTextResponse:
    return PlainTextResponse(f"{reason}\n", status)
