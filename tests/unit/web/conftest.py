"""Application of the page, behind its guard, for tests without a socket."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fastbpe
from fastbpe import Tokenizer

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("numpy", reason="needs the extra web")

from starlette.testclient import TestClient

from fastbpe.web.app import make_app
from fastbpe.web.guard import Guard
from fastbpe.web.shelf import Shelf

PORT = 8123
HOST = f"127.0.0.1:{PORT}"


@pytest.fixture(scope="session")
def small() -> Tokenizer:
    """Byte level; "ab", "abc", "<|end|>" special, "<x>" added."""
    made = Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None, special_tokens={"<|end|>": 258})
    return made.with_tokens(["<x>"])


@pytest.fixture(scope="session")
def points() -> Tokenizer:
    """Code points, without byte fallback."""
    return fastbpe.train(["ab ab abc"] * 3, mode="codepoint", vocab_size=10, progress=False)


@pytest.fixture
def client_of() -> Callable[..., TestClient]:
    """Function that makes a client of a page with tokenizers."""

    def make(*tokenizers: Tokenizer, max_body_bytes: int = 1 << 20) -> TestClient:
        shelf = Shelf((f"number {i}", one) for i, one in enumerate(tokenizers))
        app = Guard(make_app(shelf), port=PORT, max_body_bytes=max_body_bytes)
        return TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)

    return make


@pytest.fixture
def client(client_of: Callable[..., TestClient], small: Tokenizer, points: Tokenizer) -> TestClient:
    return client_of(small, points)
