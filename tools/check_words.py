"""Check the words of docstrings, test names and constants, the prose of pages, and the terms of the glossary.

    python tools/check_words.py [FOLDER...]                   src, tests, benchmarks and tools by default
    python tools/check_words.py --prose [PAGE...]             README, docs and the other pages, and errors and help
    python tools/check_words.py --glossary ARCHITECTURE.md    compare the glossary with the sources

A docstring begins with an imperative or a noun phrase, a test is named by what must hold, and a limit is called
MAX_. HARD_PHRASE lists phrases that comments and docstrings must not contain. A sentence of a page has at most
MAX_SENTENCE words, and none of the words in tools/prose.txt. The glossary has every term of CANDIDATES that occurs
more than MIN_COUNT times in SOURCES, and no rarer term. Prints a line for each finding, and exits with 1 if there
are findings.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "benchmarks", "tools")
SOURCES = ("src/fastbpe/_core", "src/fastbpe/tokenizer", "src/fastbpe/transformers")  # where terms are counted
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs")  # pages, and folders of pages
PROSE = ROOT / "tools" / "prose.txt"  # words that pages do not use
MAX_SENTENCE = 35  # words of a sentence, of an item of a list and of a cell of a table
MIN_COUNT = 50  # occurrences in SOURCES that make a term one for the glossary

BAD_FIRST_WORD = re.compile(  # a question, or a verb that is no imperative
    r"\s*(What|Where|Whether|How|Those|That|Which|Builds|Copies|Decodes|Encodes|Finds|Gives|Joins|Keeps|Learns|Makes"
    r"|Normalizes|Packs|Puts|Reads|Releases|Removes|Replaces|Returns|Splits|Takes|Tells|Trims|Turns|Writes|Yields)\b"
)
BAD_TEST_NAME = re.compile(
    r"^\s*(?:async )?def (test_(?:what|how|where|whether|another|others|none)_\w*)", re.MULTILINE
)
BAD_CONSTANT = re.compile(r"\b_?MOST_[A-Z0-9_]+\b")
#: Phrase of a comment or a docstring in which "none" or "takes" stands for the words that a reader needs.
HARD_PHRASE = re.compile(
    r"\b(?:[Tt]here (?:is|are)|has|have|had|holds?) none\b(?! of)|\bif they are none\b"
    r"|\bin (?:the|a) form that \w+ takes?\b".replace(" ", r"\s+(?:[#*]+:?\s+)?")  # also across lines
)

#: Functions of src that get the words of an error or a warning.
TELLING = ("warn", "error", "fail", "_fail", "_refuse", "_damaged", "_lost", "cannot", "wrong", "complain")

#: Terms of this project, or with a narrower sense here. A reader knows the terms of the field (token, id, rank,
#: merge, vocabulary, batch, slot, probe …) without a glossary.
CANDIDATES = (
    "alphabet", "base symbol", "boundary", "charsmap", "conventions", "counted piece", "cut range", "engine",
    "entry", "facade", "gap", "group", "home line", "job", "match state", "metaspace", "pair line",
    "pending piece", "piece", "priority", "program", "queued pair", "rule", "safe cut", "scanner", "scratch",
    "sentence", "slow twin", "span", "spill", "splitter", "step", "stretch", "symbol", "template", "unmatched",
    "window", "word",
)  # fmt: skip


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each docstring of a source file (.py, .pyi, .pyx or .pxd)."""
    text = path.read_text(encoding="utf-8")
    return _python_docstrings(text) if path.suffix in (".py", ".pyi") else _cython_docstrings(text)


def _python_docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield node.body[0].lineno, docstring


def _cython_docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Yield strings that begin the file or follow a colon."""
    before, is_inside = ":", False
    for number, line in enumerate(text.split("\n"), 1):
        code = line.partition("#")[0].strip()
        begins = re.match(r'\s*r?"""(.*)', line)
        if is_inside:
            is_inside = '"""' not in line
        elif begins:
            if before.endswith(":"):
                yield number, begins[1]
            is_inside = '"""' not in begins[1]
        if code:
            before = code


def findings(folder: Path) -> list[str]:
    """Return a line "path:number: reason" for each bad word in the sources of a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".py", ".pyi", ".pyx", ".pxd", ".h"):
            continue
        text = path.read_text(encoding="utf-8")
        lines: dict[int, str] = {}
        if path.suffix != ".h":
            for number, docstring in docstrings(path):
                if word := BAD_FIRST_WORD.match(docstring):
                    lines[number] = f"a docstring begins with {word[1]}: {docstring.splitlines()[0][:60]}"
        for match in BAD_TEST_NAME.finditer(text):
            lines[_line(text, match.start(1))] = f"{match[1]} does not say what must hold"
        for match in HARD_PHRASE.finditer(text):
            lines[_line(text, match.start())] = (
                f"{match[0]!r}: name the thing that is missing, or say what it accepts"
            )
        first_of_name = {match[0]: match.start() for match in reversed([*BAD_CONSTANT.finditer(text)])}
        for name, start in first_of_name.items():
            lines[_line(text, start)] = f"{name}: call a limit MAX_"
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        found += [f"{shown}:{number}: {reason}" for number, reason in sorted(lines.items())]
    return found


class Rule(NamedTuple):
    """One rule of the vocabulary of pages.

    words: re.Pattern[str] – what a page does not say.
    instead: str – the way out.
    paths: tuple[str, ...] – beginnings of the paths to which the rule holds; with `is_inverted` of all others.
    is_inverted: bool – it holds elsewhere.
    """

    words: re.Pattern[str]
    instead: str
    paths: tuple[str, ...]
    is_inverted: bool

    def holds(self, path: str) -> bool:
        """Tell whether the rule holds for a page, by its path from the root."""
        return path.startswith(self.paths) != self.is_inverted


def read_rules(text: str) -> list[Rule]:
    """Read a vocabulary in the form of tools/prose.txt.

    Raises:
        SystemExit: a line is neither a rule nor a section.
    """
    rules = []
    paths, is_inverted = ("",), False
    for number, line in enumerate(text.splitlines(), 1):
        words, equals, instead = line.partition(" = ")
        if section := re.fullmatch(r"\[(not )?(.+)\]", line):
            is_inverted = bool(section[1])
            paths = ("",) if section[2] == "all" else tuple(section[2].split())
        elif equals and not line.startswith("#"):
            rules.append(Rule(re.compile(words, re.IGNORECASE), instead, paths, is_inverted))
        elif line and not line.startswith("#"):
            raise SystemExit(f"check_words: line {number} of the vocabulary is neither a rule nor a section")
    return rules


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each sentence of a Markdown page, item of a list and cell of a table.

    A piece of code within a line counts as one word, a link as its text; headings and blocks of code are left out.
    """

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = re.sub(r"^( *)(```|:::).*?^\1\2 *$", blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^#+ .*$|^\|[-| :]+$", blank, text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", lambda match: "CODE" + blank(match), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d+\.)[ \t])|(?<!\\)\||(?<=[.!?:;])\s+")
    start = 0
    for end in [*(match.end() for match in parts.finditer(text)), len(text)]:
        sentence = text[start:end]
        if said := re.sub(r"^[\s|]*(?:[-*+]\s+)?", "", sentence).rstrip(" \t\n|"):
            yield _line(text, start + sentence.index(said)), " ".join(said.split())
        start = end


def prose_findings(page: Path, rules: Sequence[Rule]) -> list[str]:
    """Return a line "path:number: reason" for each bad word and each long sentence of a page."""
    shown = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.as_posix()
    found = []
    for number, sentence in sentences(page.read_text(encoding="utf-8")):
        for rule in rules:
            if rule.holds(shown) and (bad := rule.words.search(sentence)):
                found.append(f"{shown}:{number}: {bad[0]!r}: {rule.instead}")
        if (n_words := len(sentence.split())) > MAX_SENTENCE:
            found.append(f"{shown}:{number}: {n_words} words in a sentence, at most {MAX_SENTENCE}: cut it")
    return found


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each error, warning and text of --help in a source file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts: list[ast.expr] = node.exc.args
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in TELLING:
            texts = node.args
        elif isinstance(node, ast.keyword) and node.arg == "help":
            texts = [node.value]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("SUMMARY", "DETAILS"):
            texts = [node.value]  # of a command
        else:
            continue
        for text in texts:
            yield (
                text.lineno,
                "".join(
                    one.value
                    for one in ast.walk(text)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ),
            )


def message_findings(path: Path, rules: Sequence[Rule]) -> list[str]:
    """Return a line "path:number: reason" for each bad word in the messages of a source file."""
    shown = path.relative_to(ROOT).as_posix()
    return [
        f"{shown}:{number}: {bad[0]!r}: {rule.instead}"
        for number, text in messages(path)
        for rule in rules
        if rule.holds(shown) and (bad := rule.words.search(text))
    ]


def pages_in(paths: Iterable[Path]) -> list[Path]:
    """List pages, and the pages below folders."""
    return [page for path in paths for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def glossary_terms(text: str) -> list[str]:
    """Return the terms of a document's section Words or Glossary: a table, or a list of "- term: meaning"."""
    section = re.search(r"^#+ (?:Words|Glossary)\b[^\n]*\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise SystemExit("check_words: no section Words or Glossary")
    cells = re.findall(r"^(?:\| *([^|\n]+?) *\||[-*] +([^:\n]+?) *:)", section[1], re.MULTILINE)
    words = [re.sub(r"[`*]", "", table or listed) for table, listed in cells]
    if len(words) > 1 and not words[1].strip("-"):  # a table: its head and the line below it
        words = words[2:]
    return [term.strip().lower() for word in words for term in word.split(",")]


def count_terms(terms: set[str]) -> dict[str, int]:
    """Count terms in SOURCES, in text and in identifiers: `safe_cut`, `SafeCuts` and "safe cut" are one term."""
    paths = [
        path
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".pyx", ".pxd", ".h")
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text).lower()
    return {term: len(re.findall(rf"\b{_plural(term)}\b", text)) for term in terms}


def _plural(term: str) -> str:
    """Return a regex for the singular and the plural of a term."""
    stem = re.escape(term)
    if term.endswith("y"):
        return f"{stem[:-1]}(?:y|ies)"
    return f"{stem}(?:e?s)?"


def check_glossary(path: Path) -> list[str]:
    """Return a line for each frequent candidate that a glossary lacks, and for each rare term that it has."""
    listed = set(glossary_terms(path.read_text(encoding="utf-8")))
    counts = count_terms(listed | set(CANDIDATES))
    missing = [term for term in sorted(set(CANDIDATES) - listed) if counts[term] > MIN_COUNT]
    rare = [term for term in sorted(listed) if counts[term] < MIN_COUNT]
    where = " and ".join(SOURCES)
    return [f"{path}: '{term}' is missing: {counts[term]} times in {where}" for term in missing] + [
        f"{path}: '{term}' is rare: {counts[term]} times in {where}" for term in rare
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folders", nargs="*", type=Path, help="folders or pages to check; default: " + ", ".join(FOLDERS)
    )
    parser.add_argument("--prose", action="store_true", help="check pages; default: " + ", ".join(PAGES))
    parser.add_argument(
        "--glossary", type=Path, metavar="FILE", help="check the glossary of this document instead"
    )
    chosen = parser.parse_args()
    if chosen.glossary:
        found = check_glossary(chosen.glossary)
    elif chosen.prose:
        rules = read_rules(PROSE.read_text(encoding="utf-8"))
        pages = pages_in(
            [path.resolve() for path in chosen.folders] or [ROOT / name for name in PAGES],
        )
        found = [line for page in pages for line in prose_findings(page, rules)]
        if not chosen.folders:
            sources = sorted((ROOT / "src").rglob("*.py"))
            found += [line for source in sources for line in message_findings(source, rules)]
    else:
        folders = [folder.resolve() for folder in chosen.folders] or [ROOT / name for name in FOLDERS]
        found = [line for folder in folders for line in findings(folder)]
    print("\n".join([*found, f"{len(found)} findings"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
