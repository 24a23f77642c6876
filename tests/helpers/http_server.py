"""An HTTP server on this machine, for tests of downloads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves `files`, redirects `moved`, refuses `gated` with 401, and answers 404 to all other paths.

    Attributes:
        files: path → content. It is sent in two halves, `pause` seconds apart.
        halved: paths in `files`; only the first half of these files is sent.
        moved: path → address.
        gated: paths.
        asked: (path, Authorization header or None) of each request, in order.
    """

    def __init__(self, path: str = "", pause: float = 0) -> None:
        """path: the end of `url`."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.path = path
        self.pause = pause
        self.files: dict[str, bytes] = {}
        self.halved: set[str] = set()
        self.moved: dict[str, str] = {}
        self.gated: set[str] = set()
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        server.asked.append((self.path, self.headers.get("Authorization")))
        if self.path in server.moved:
            self.send_response(302)
            self.send_header("Location", server.moved[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in server.gated:
            self.send_error(401)
        elif self.path not in server.files:
            self.send_error(404)
        else:
            content = server.files[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            if self.path not in server.halved:
                time.sleep(server.pause)
                self.wfile.write(content[len(content) // 2 :])

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
