"""Links to other sites are found with their places, and asked of a server on this machine."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from helpers.tool_modules import tool


@pytest.fixture(scope="module")
def check_links() -> ModuleType:
    return tool("check_links")


class Pages(http.server.BaseHTTPRequestHandler):
    """A site on which /no is gone and /busy refuses."""

    def do_GET(self) -> None:
        self.send_response({"/no": 404, "/busy": 429}.get(self.path, 200))
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_links_are_found_with_their_places(check_links: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("See [a](https://a.org/x).\nAnd <https://b.org/>, http://localhost:8000; https://a.org/x.\n")
    assert check_links.links([page]) == {"https://a.org/x": f"{page}:1", "https://b.org/": f"{page}:2"}


@pytest.mark.parametrize(("path", "status"), [("/", 0), ("/busy", 0), ("/no", 1)])
def test_page_that_is_gone_is_a_finding(
    check_links: ModuleType,
    tmp_path: Path,
    site: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    status: int,
) -> None:
    (tmp_path / "a.md").write_text(f"[here]({site}{path})\n[there]({site}/there)\n")
    monkeypatch.setattr(check_links, "NOT_PUBLIC", check_links.re.compile("never"))
    monkeypatch.setattr(sys, "argv", ["check_links.py", str(tmp_path)])
    assert check_links.main() == status
    said = capsys.readouterr().out
    assert f"2 links, {status} of them gone" in said
    assert ("/a.md:1: " in said) == (path != "/")


def test_check_without_a_network_says_so(
    check_links: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("[a](https://a.org/x)\n")
    monkeypatch.setattr(check_links, "ask", lambda link: "no such host")
    monkeypatch.setattr(sys, "argv", ["check_links.py", str(tmp_path)])
    assert check_links.main() == 0
    assert capsys.readouterr().out.startswith("skipped: no network")
