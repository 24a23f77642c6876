"""Server of the page: only on the loopback interface, at a free port unless one is given."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Iterable, Mapping
from threading import Thread

from uvicorn import Config, Server

from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.web.app import make_app
from fastbpe.web.guard import Guard
from fastbpe.web.own_templates import OwnTemplate
from fastbpe.web.shelf import Shelf

LOOPBACK = "127.0.0.1"
_SECONDS_TO_END = 2  # for unfinished responses when the server stops


class WebServer:
    """Server of the page. It listens as soon as it is created; `run` answers requests.

    Args:
        tokenizers: names and tokenizers to offer; if empty, one whose tokens are the bytes, without merges.
        port: int – port to listen on; 0: any free port.
        templates: chat templates of models, by the name of the tokenizer.

    Attributes:
        port: int – the port.
        address: str – address of the page.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        tokenizers: Iterable[tuple[str, Tokenizer]],
        *,
        port: int = 0,
        templates: Mapping[str, OwnTemplate] | None = None,
    ) -> None:
        named = [*tokenizers] or [("bytes", Tokenizer.from_merges([], pattern=None))]
        self._socket = socket.create_server((LOOPBACK, port))
        # Connections inherit this option. Without it, a response's body waits until its headers are acknowledged.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{LOOPBACK}:{self.port}/"
        self._server = Server(
            Config(
                Guard(make_app(Shelf(named, templates)), port=self.port),
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )

    def run(self) -> None:
        """Answer requests until `stop`, SIGINT or SIGTERM. At the end, raise the signal again."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Make `run` return. Call this from another thread."""
        self._server.should_exit = True

    def open_browser(self) -> None:
        """Open the page in the user's browser, if a browser is found."""
        # In a thread: the call returns only when a browser of the terminal ends.
        Thread(target=webbrowser.open, args=[self.address], daemon=True).start()
