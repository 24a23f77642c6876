"""Application of the page: its files, and the endpoints that it calls.

Files are read from the package once, when the application is created; no request contains a path. Requests to the
endpoints have a text, JSON, a tokenizer's file or nothing as their body, and change only the shelf of tokenizers.
"""

from __future__ import annotations

import json
import os
from asyncio import Semaphore
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from functools import partial
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from fastbpe.display.html import STYLE
from fastbpe.display.shown_tokens import KINDS
from fastbpe.display.visible import visible_text
from fastbpe.errors import FastbpeError
from fastbpe.known_vocabularies import VOCABULARIES
from fastbpe.model import N_BYTES
from fastbpe.patterns import PATTERNS
from fastbpe.published.find import places
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.web import answers, live_training
from fastbpe.web.live_training import MAX_VOCAB_SIZE, Trainer
from fastbpe.web.own_templates import OwnTemplate, has_jinja
from fastbpe.web.shelf import MAX_ADDED, Entry, Shelf
from fastbpe.web.template_messages import ROLES, TEMPLATES, ChatTemplate, Message

MAX_SIDE_BY_SIDE = 4  # tokenizers that see one text
MAX_TOKENS = 50_000  # ids that one request may ask about
MAX_WORD = 200  # characters of a text that is merged step by step
MAX_MESSAGES = 100  # messages of a chat
MAX_NAME = 60  # characters of a vocabulary's name
MAX_SHARED_BYTES = 1 << 20  # longest text of a page to share: browsers draw a larger page slowly
LARGE_BYTES = 1 << 18  # longer texts are encoded one at a time, each with all the memory that it needs
OWN_TEMPLATE = "own"  # name of the template that is stored with a tokenizer

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def make_app(shelf: Shelf) -> Starlette:
    """Create the application. Run it behind `guard.Guard`.

    Args:
        shelf: the tokenizers of the page.
    """
    questions = _Questions(shelf)
    endpoints = {
        "encode": questions.encode,
        "tokens": questions.tokens,
        "chat": questions.chat,
        "word": questions.word,
        "train": questions.train,
        "share": questions.share,
        "file": questions.file,
        "add": questions.add,
        "known": questions.known,
    }
    return Starlette(
        routes=[
            *_file_routes(),
            Route("/api/page", questions.page, methods=["GET"]),
            *(Route(f"/api/{name}", answer, methods=["POST"]) for name, answer in endpoints.items()),
        ],
        exception_handlers={FastbpeError: _failure, ValueError: _failure, HTTPException: _refusal},
    )


def _file_routes() -> Iterator[Route]:
    for file in resources.files("fastbpe.web").joinpath("static").iterdir():
        path = "/" if file.name == "index.html" else f"/static/{file.name}"
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:  # None: not of the page, such as a backup that an editor left
            yield Route(path, _sender(file.read_bytes(), kind), methods=["GET"])
    yield Route("/static/tokens.css", _sender(STYLE.encode(), _TYPES["css"]), methods=["GET"])


def _sender(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return Response(content, media_type=kind)

    return send


async def _failure(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": visible_text(str(error))}, 400)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


class _Questions:
    """Endpoints of the page."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._trainer = Trainer(shelf)
        self._turn = Semaphore(1)  # held while a large text is encoded

    async def page(self, request: Request) -> Response:
        """Send the page a description of its tokenizers and features."""
        return JSONResponse(
            {
                "tokenizers": [entry.as_dict() for entry in self._shelf.entries()],
                "kinds": KINDS,
                "templates": [template.name for template in TEMPLATES],
                "own_template": OWN_TEMPLATE,
                "has_jinja": has_jinja(),
                "roles": ROLES,
                "patterns": [*PATTERNS, "none"],
                "vocab_size": [N_BYTES + 1, MAX_VOCAB_SIZE],
                "max_tokenizers": MAX_SIDE_BY_SIDE,
                "max_added": MAX_ADDED,
                "max_word": MAX_WORD,
                "known": await run_in_threadpool(_known_here),
            }
        )

    async def encode(self, request: Request) -> Response:
        """Encode the text of the body with each tokenizer of the argument `with`."""
        entries = self._entries(request)
        body = await request.body()
        work = partial(answers.encoded, entries, _text(body), special=_special(request))
        async with self._turn if len(body) > LARGE_BYTES else nullcontext():
            encoded = await run_in_threadpool(work)
        return Response(encoded, media_type="application/octet-stream")

    async def tokens(self, request: Request) -> Response:
        """Describe the ids of the body: a list of ids, or of [id, text] for the unknown one."""
        (entry,) = self._entries(request, at_most=1)
        wanted = _json(await request.body(), list)
        if len(wanted) > MAX_TOKENS:
            raise HTTPException(400, f"at most {MAX_TOKENS:,} tokens per request")
        pairs = [_id_and_text(item) for item in wanted]
        return JSONResponse(await run_in_threadpool(answers.tokens, entry.for_chats, pairs))

    async def chat(self, request: Request) -> Response:
        """Encode the messages of the body, in the form of the argument `template`: a name, or OWN_TEMPLATE."""
        (entry,) = self._entries(request, at_most=1)
        template = _template(request.query_params.get("template"), entry)
        messages = _messages(_json(await request.body(), list))
        return JSONResponse(await run_in_threadpool(answers.chat, entry.for_chats, template, messages))

    async def word(self, request: Request) -> Response:
        """Merge the short text of the body step by step."""
        (entry,) = self._entries(request, at_most=1)
        text = _text(await request.body())
        if len(text) > MAX_WORD:
            raise HTTPException(400, f"at most {MAX_WORD} characters can be merged step by step")
        return JSONResponse(await run_in_threadpool(answers.word, entry.tokenizer, text))

    async def train(self, request: Request) -> Response:
        """Train on the text of the body, and send a line of JSON for each progress report."""
        size = _number(request, "vocab_size")
        if not N_BYTES < size <= MAX_VOCAB_SIZE:
            raise HTTPException(400, f"vocab_size: from {N_BYTES + 1} to {MAX_VOCAB_SIZE}")
        pattern = request.query_params.get("pattern", "")
        if pattern not in (*PATTERNS, "none"):
            raise HTTPException(400, "pattern: must be the name of a pattern")
        name = request.query_params.get("name", "")[:MAX_NAME] or "trained here"
        text = _text(await request.body()).encode()
        reports = self._trainer.reports(text, vocab_size=size, pattern=pattern, name=name)
        return StreamingResponse(_lines(reports), media_type="application/x-ndjson")

    async def share(self, request: Request) -> Response:
        """Send a page with the tokens of the body's text for each tokenizer of the argument `with`."""
        entries = self._entries(request)
        body = await request.body()
        if len(body) > MAX_SHARED_BYTES:
            limit = f"at most {MAX_SHARED_BYTES:,} bytes of text can be shared as a page"
            raise HTTPException(413, f"{limit}; `fastbpe show --html` writes larger pages")
        page = answers.page(entries, _text(body), special=_special(request))
        headers = {"Content-Disposition": 'attachment; filename="tokens.html"'}
        return StreamingResponse(page, media_type="text/html", headers=headers)

    async def file(self, request: Request) -> Response:
        """Send a tokenizer that was trained on the page, as a file for fastbpe.load."""
        (entry,) = self._entries(request, at_most=1)
        if not entry.is_trained:
            raise HTTPException(400, "only vocabularies that were trained here can be saved")
        content = await run_in_threadpool(live_training.file_of, entry.tokenizer)
        return Response(content, media_type="application/octet-stream")

    async def add(self, request: Request) -> Response:
        """Add the tokenizer in the body: a file of any format that `load` reads without further arguments."""
        name = request.query_params.get("name", "")[:MAX_NAME] or "a file"
        return await self._added(name, await request.body())

    async def known(self, request: Request) -> Response:
        """Add a published vocabulary that is on this machine; nothing is downloaded."""
        name = request.query_params.get("name", "")
        if name not in VOCABULARIES:
            raise HTTPException(400, "name: must be the name of a published vocabulary")
        return await self._added(name, name)

    async def _added(self, name: str, source: str | bytes) -> Response:
        tokenizer = await run_in_threadpool(load, source)
        if not isinstance(tokenizer, Tokenizer):
            raise HTTPException(400, "this tokenizer encodes sequences of integers, not text")
        entry = self._shelf.add(name, tokenizer, is_trained=False)
        return JSONResponse({"tokenizer": entry.as_dict()})

    def _entries(self, request: Request, at_most: int = MAX_SIDE_BY_SIDE) -> list[Entry]:
        """Return the tokenizers of the argument `with`: numbers, or NUMBER:SIZE for an earlier size."""
        wanted = request.query_params.get("with", "").split(",")
        if len(wanted) > at_most:
            raise HTTPException(400, f"with: at most {at_most} tokenizers")
        return [self._entry(number) for number in wanted]

    def _entry(self, wanted: str) -> Entry:
        key, colon, size = wanted.partition(":")
        if not _is_number(key) or (colon and not _is_number(size)):
            raise HTTPException(400, "with: must be numbers of tokenizers, separated by commas")
        entry = self._shelf.get(int(key))
        if entry is None:
            raise HTTPException(404, "this tokenizer is gone; train or load it again")
        if not colon:
            return entry
        if not entry.is_trained or not N_BYTES <= int(size) <= entry.tokenizer.n_vocab:
            raise HTTPException(
                400,
                f"with: a size is for a tokenizer that was trained here, from {N_BYTES} to its number of ids",
            )
        smaller = live_training.at_size(entry.tokenizer, int(size))
        return entry._replace(tokenizer=smaller, for_chats=smaller)


def _known_here() -> list[str]:
    """List the published vocabularies that are on this machine."""
    return [name for name in VOCABULARIES if any(map(os.path.exists, places(name)))]


async def _lines(reports: Iterator[live_training.Report]) -> Any:
    try:
        while (report := await run_in_threadpool(next, reports, None)) is not None:
            yield json.dumps(report) + "\n"
    finally:
        reports.close()  # type: ignore[attr-defined]


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"the text is not UTF-8 at byte {error.start}") from None


def _json(body: bytes, kind: type) -> Any:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(found, kind):
        raise HTTPException(400, f"the body must be a {kind.__name__}")
    return found


def _id_and_text(wanted: Any) -> tuple[int, str | None]:
    token_id, text = wanted if isinstance(wanted, list) and len(wanted) == 2 else (wanted, None)
    if type(token_id) is not int or not (text is None or isinstance(text, str)):
        raise HTTPException(400, "the body must be a list of ids, or of [id, text]")
    return token_id, text


def _messages(said: list[Any]) -> list[Message]:
    if len(said) > MAX_MESSAGES:
        raise HTTPException(400, f"at most {MAX_MESSAGES} messages")
    messages = []
    for item in said:
        role, content = (item.get("role"), item.get("content")) if isinstance(item, dict) else (None, None)
        if role not in ROLES or not isinstance(content, str):
            raise HTTPException(
                400, f"each message must have a role ({', '.join(ROLES)}) and a text as its content"
            )
        messages.append(Message(role, content))
    return messages


def _template(name: str | None, entry: Entry) -> ChatTemplate | OwnTemplate:
    if name == OWN_TEMPLATE:
        if entry.own_template is None:
            raise HTTPException(400, "this tokenizer has no chat template")
        if not has_jinja():
            raise HTTPException(400, 'chat templates need jinja2: pip install "fastbpe-tokenizer[chat]"')
        return entry.own_template
    template = next((known for known in TEMPLATES if known.name == name), None)
    if template is None:
        raise HTTPException(400, "no template has this name")
    return template


def _special(request: Request) -> bool:
    return request.query_params.get("special") == "1"


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "")
    if not _is_number(value):
        raise HTTPException(400, f"{name}: must be a number")
    return int(value)


def _is_number(text: str) -> bool:
    """Tell whether a text has up to 9 decimal digits. int() itself raises an error for more than 4,300."""
    return text.isascii() and text.isdecimal() and len(text) < 10
