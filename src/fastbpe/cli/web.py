"""fastbpe web: a local page that shows the tokens of a text while it is typed."""

from __future__ import annotations

import argparse
import contextlib
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastbpe._utils.arguments import decimal
from fastbpe.cli import streams
from fastbpe.cli.shared_flags import add_model, load_models
from fastbpe.published.find import unpublished_path

if TYPE_CHECKING:  # needs no extra, but is in the same folder as modules that do
    from fastbpe.web.own_templates import OwnTemplate

SUMMARY = "open a local page on which text becomes tokens as you type"
DETAILS = """

The page shows the tokens of a text in colours, for up to four tokenizers side by side,
with the number of tokens and, if you enter a price, the cost. It also shows special tokens,
chats, the merges of a word, and how a vocabulary is learned. Without -m, the page begins
with a tokenizer whose tokens are the single bytes; you can add others on the page. Only
this machine can reach the page, and the text stays on this machine. Press Ctrl-C to stop.
The command needs the extra "web": pip install "fastbpe-tokenizer[web]". With the extra
"chat", the page can also use the chat template of a model (tokenizer_config.json,
chat_template.jinja)."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ timeout 5 fastbpe web -m words.fbpe --no-browser || true
  ...
"""
MAX_PORT = 65_535
_STACK_BYTES = 8 << 20  # of each thread of the server, for deeply nested JSON: musl's 128 KiB are too few


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", metavar="N", type=_port, default=0, help="port to serve the page on (default: a free one)")
    add("--no-browser", action="store_true", help="print the address of the page, but open no browser")
    add_model(parser, several=True, required=False)


def run(args: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    try:
        from fastbpe.web.server import WebServer
    except ImportError as error:
        raise ImportError(
            f'fastbpe web needs {error.name}: pip install "fastbpe-tokenizer[web]" (starlette, uvicorn, numpy)'
        ) from None
    streams.write(b"")  # a closed standard output is an error before anything is loaded
    models = load_models(args)
    names = _short_names([model.name for model in models])
    found = {name: _template_of(model.name) for name, model in zip(names, models, strict=True)}
    server = WebServer(
        [(name, model.tokenizer) for name, model in zip(names, models, strict=True)],
        port=args.port,
        templates={name: template for name, template in found.items() if template is not None},
    )
    streams.say(server.address)
    streams.flush()
    if not args.no_browser:
        server.open_browser()
    threading.stack_size(_STACK_BYTES)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the server
        server.run()


def _template_of(model: str) -> OwnTemplate | None:
    """Find the chat template in the folder of a model. model: a path, or a name that is on this machine."""
    from fastbpe.web.own_templates import find_template

    path = model if os.path.exists(model) else unpublished_path(model)
    return None if path is None else find_template(path)


def _short_names(names: Sequence[str]) -> list[str]:
    """Return the names for the page: the last part of each path, unless two are the same."""
    last_parts = [os.path.basename(os.path.abspath(name)) if os.path.exists(name) else name for name in names]
    return [last if last_parts.count(last) == 1 else name for last, name in zip(last_parts, names, strict=True)]


def _port(text: str) -> int:
    if not text.isdecimal() or decimal(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: it must be a number from 0 to {MAX_PORT}")
    return int(text)
