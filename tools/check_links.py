"""Ask the pages of other sites to which README and docs link.

    python tools/check_links.py [PAGE...]    README, docs and the other pages by default

Prints a line for each link whose page is gone (404, 410) or whose host does not answer, and exits with 1 if there
is one. Refusals (403, 429) and errors of a server (500 …) are printed, and are not findings. Where no host answers
at all, there is no network: the tool says so, and exits with 0.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs")
LINK = re.compile(r"\bhttps?://[^\s)>\"'`\]]+[^\s)>\"'`\].,;:]")
NOT_PUBLIC = re.compile(r"https?://(?:localhost|127\.0\.0\.1|[\w.-]*example\.)")  # links that no page is behind
GONE = (404, 410)
SECONDS = 20  # that a host has for its answer


def links(pages: Iterable[Path]) -> dict[str, str]:
    """Return the links of pages, each with the place where it stands first, as "page:line"."""
    found: dict[str, str] = {}
    for page in pages:
        shown = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for link in LINK.findall(line):
                if not NOT_PUBLIC.match(link):
                    found.setdefault(link, f"{shown}:{number}")
    return found


def ask(link: str) -> int | str:
    """Return the status of a page, or why its host gave no answer."""
    request = Request(link, headers={"User-Agent": "fastbpe-check-links"})
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except (OSError, HTTPException, ValueError) as error:  # no connection, no HTTP, a link that is no address
        return repr(error)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="pages, or folders of pages")
    paths = [path.resolve() for path in parser.parse_args().pages] or [ROOT / name for name in PAGES]
    pages = [page for path in paths for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]
    places = links(pages)
    with ThreadPoolExecutor(8) as pool:
        statuses = dict(zip(places, pool.map(ask, places), strict=True))
    if places and not any(isinstance(status, int) for status in statuses.values()):
        print(f"skipped: no network, none of {len(places)} links was asked")
        return 0
    n_gone = 0
    for link, status in statuses.items():
        if status in GONE or isinstance(status, str):
            n_gone += 1
            print(f"{places[link]}: {link}: {status}")
        elif status != 200:
            print(f"{places[link]}: {link}: {status}, not counted")
    print(f"{len(places)} links, {n_gone} of them gone")
    return int(bool(n_gone))


if __name__ == "__main__":
    sys.exit(main())
