"""The site has every public name, every error class and every page, and it builds without a warning."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

import fastbpe
from fastbpe import FilesSummary
from fastbpe.formats.sentencepiece import specs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SRC = ROOT / "src" / "fastbpe"
NOT_DOCUMENTED = {"fastbpe.cli.main"}  # the function behind the command line
PUBLIC_MODULES = [
    "fastbpe",
    *sorted(
        f"fastbpe.{path.parent.name}" if path.name == "__init__.py" else f"fastbpe.{path.stem}"
        for path in [*SRC.glob("*/__init__.py"), *SRC.glob("*.py")]
        if re.search("^__all__ = ", path.read_text(encoding="utf-8"), re.MULTILINE)
        and path.parent.name[0] != "_"
        and path.name[0] != "_"
    ),
]
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}


def documented_names() -> set[str]:
    """Return the names after autoclass, autofunction, py:data and py:attribute directives."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    names = {*re.findall(r"^\.\. (?:autoclass|autofunction|autodata|py:data):: (\S+)$", text, re.MULTILINE)}
    for module, members in re.findall(
        r"^\.\. automodule:: (\S+)\n(?:   :.*\n)*?   :members: (.+)$", text, re.MULTILINE
    ):
        names |= {f"{module}.{name}" for name in members.split(", ")}
    return names


def error_classes() -> list[str]:
    """List the names of all classes of errors and warnings that the package defines."""
    found = []
    for path in [*SRC.rglob("*.py"), *SRC.rglob("*.pyx")]:
        found += re.findall(r"^class (\w+(?:Error|Warning))\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted({*found} - {"UnsupportedError"})  # private to one module: a caller never sees it


def toctree_entries() -> set[str]:
    """Return the pages that the toctrees reach from index, patterns resolved."""
    reached, todo = {"index"}, ["index"]
    while todo:
        page = todo.pop()
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        folder = page.rpartition("/")[0]
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for entry in re.findall(r"^(?!:)(\S+)$", block, re.MULTILINE):
                pattern = f"{folder}/{entry}" if folder else entry
                same_depth = {name for name in PAGES if name.count("/") == pattern.count("/")}
                new = {name for name in same_depth if fnmatchcase(name, pattern)} - reached
                reached |= new
                todo += new
    return reached


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_public_name_has_a_page(module: str) -> None:
    names = importlib.import_module(module).__all__
    documented = documented_names()
    where = {f"{module}.{name}" for name in names} - NOT_DOCUMENTED
    if module == "fastbpe":  # the errors stand under their own module
        where = {
            f"fastbpe.errors.{name.rpartition('.')[2]}" if name.endswith(("Error", "Warning")) else name
            for name in where
        }
    assert not sorted(where - documented), "add it to a page in docs/reference/"


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_public_function_and_class_has_an_example(module: str) -> None:
    """Methods have theirs in the docstring of the class or in their own."""
    loaded = importlib.import_module(module)
    owners = {
        name: getattr(loaded, name)
        for name in loaded.__all__
        if f"{module}.{name}" not in NOT_DOCUMENTED and callable(getattr(loaded, name))
    }
    errors = {
        name for name, owner in owners.items() if inspect.isclass(owner) and issubclass(owner, BaseException)
    }
    assert not sorted(
        name for name, owner in owners.items() if name not in errors and ">>>" not in (inspect.getdoc(owner) or "")
    )


@pytest.mark.parametrize("name", error_classes())
def test_error_class_has_an_entry(name: str) -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}` \|", text, re.MULTILINE), "say in the table when it arises and what mends it"


def test_environment_variable_has_an_entry() -> None:
    text = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    sources = [*SRC.rglob("*.py"), *SRC.rglob("*.pyx"), ROOT / "setup.py"]
    read = {
        name
        for path in sources
        for name in re.findall(r'(?:environ.*|VARIABLE = )"(FASTBPE_[A-Z_]+)"', path.read_text(encoding="utf-8"))
    }
    assert {"FASTBPE_OFFLINE", "FASTBPE_PATCH", "FASTBPE_SIMD"} <= read
    assert not sorted(name for name in read if f"`{name}`" not in text)


def test_option_of_the_sentencepiece_trainer_has_an_entry() -> None:
    text = (DOCS / "reference" / "training-options.md").read_text(encoding="utf-8")
    names = {*specs.TRAINER, *specs.NORMALIZER} - {"precompiled_charsmap"}  # the compiled form of the rules
    assert not sorted(name for name in names if f"`{name}`" not in text)


def test_page_is_in_a_toctree() -> None:
    assert not sorted(PAGES - toctree_entries())


def test_links_between_pages_lead_to_files() -> None:
    bad = []
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                bad.append(f"{page.relative_to(DOCS)}: {target}")
    assert not bad


def test_configuration_names_the_version_of_the_package() -> None:
    tree = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    (release,) = (node for node in assigned if "release" in {getattr(target, "id", "") for target in node.targets})
    assert ast.unparse(release.value) == "fastbpe.__version__"
    assert fastbpe.__version__


@pytest.mark.daily
@pytest.mark.skipif(importlib.util.find_spec("furo") is None, reason="Sphinx and furo are not installed")
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        tmp_path / "trees",
        DOCS,
        tmp_path / "html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "html" / "reference").rglob("*.html")]
    text = re.sub(r"<[^>]+>", "", "".join(pages))
    assert "encode(text: str | bytes, *, allowed_special: str" in text, "compiled methods show their arguments"
    assert "--vocab-size N" in text
    assert not sorted(public_members() - {*re.findall(r'\bid="(fastbpe\.[\w.]+)"', "".join(pages))})
    assert not broken_links(tmp_path / "html")


def public_members() -> set[str]:
    """Return the full names of the public members of public classes.

    Errors, tuples and FilesSummary are left out: their docstrings list their attributes.
    """
    found = set()
    for module in PUBLIC_MODULES:
        for name in importlib.import_module(module).__all__:
            owner = getattr(importlib.import_module(module), name)
            if inspect.isclass(owner) and not issubclass(owner, (BaseException, tuple, FilesSummary)):
                members = vars(owner) if issubclass(owner, (Mapping, Sequence)) else dir(owner)
                found |= {f"{module}.{name}.{member}" for member in members if not member.startswith("_")}
    return found


def broken_links(folder: Path) -> list[str]:
    """List links of the built pages, with their anchors, and pictures, that lead to nothing within the site."""
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    anchors = {path: {*re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    bad = []
    for page, text in pages.items():
        for target in {*re.findall(r'\b(?:href|src)="([^"]+)"', text)}:
            if re.match(r"[a-z]+:|//", target):
                continue
            path, _, anchor = unquote(unescape(target)).partition("#")
            to = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not to.exists() or (anchor and to in anchors and anchor not in anchors[to]):
                bad.append(f"{page.relative_to(folder)}: {target}")
    return sorted(bad)


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    bad = []
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            head, *rows = (len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines())
            if {*rows} != {head}:
                bad.append(f"{page.relative_to(DOCS)}: {table.splitlines()[0]}")
    assert not bad, "write \\| for a bar within a cell"


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#part"></a><a href="b.html#no"></a>')
    (tmp_path / "b.html").write_text(
        '<p id="part"></p><a href="#gone"></a><img src="no.svg"><a href="a.html#top"></a>'
    )
    assert broken_links(tmp_path) == ["a.html: b.html#no", "b.html: #gone", "b.html: no.svg"]
