"""House rules of imports, read from the sources: layers import downwards only, no circles, private names stay
inside."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

# The checkout, since an installed package has no .pyx files.
PACKAGE = Path(__file__).resolve().parents[2] / "src" / "fastbpe"

#: Folders from low to high, each with its modules; "" are the modules of the root. A module imports from its own
#: folder and from lower layers; folders of one layer never import each other.
LAYERS = (
    {"errors", "_version", "_compiled", "_pyinstaller"},
    {"patterns"},
    {"_utils"},
    {"model"},
    {"known_vocabularies"},
    {"_core/common"},
    {"_core/text"},
    {"_core/normalize", "_core/segment"},
    {"_core/merge", "_core/ids"},
    {"_core/split"},
    {"_core/cache"},
    {"_core/encode", "_core/decode", "_core/train"},
    {"corpus", "formats", "splitting"},
    {"normalization", "published", "vocabularies", "display", "id_files", "chats"},
    {"tokenizer"},
    {"training"},
    {"memory", "constrained"},
    {"cluster"},
    {"spark", "ray"},
    {"tiktoken", "sentencepiece", "huggingface"},
    {"minbpe", "rustbpe", "transformers"},
    {"tokenizers"},
    {"drop_ins"},
    {"web"},
    {"cli"},
    {"__init__"},
    {"__main__"},
)
CIMPORT = re.compile(r"^[ ]*(?:from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n]*)|c?import\s+([\w.]+))", re.MULTILINE)
NAME = re.compile(r"(\w+)(?:\s+as\s+\w+)?")


def sources() -> list[Path]:
    return sorted(path for ending in ("*.py", "*.pyx", "*.pxd") for path in PACKAGE.rglob(ending))


def module_of(path: Path) -> str:
    """Return the full name of a source file's module, such as fastbpe.formats.native."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


@cache
def modules() -> dict[str, list[Path]]:
    """Return the source files of each module; a .pyx and its .pxd are one module."""
    found: dict[str, list[Path]] = {}
    for path in sources():
        found.setdefault(module_of(path), []).append(path)
    return found


@cache
def names_imported(path: Path) -> list[tuple[str, str]]:
    """List (module, name) for each name of fastbpe that a source file imports or cimports; the name of a module
    is "".

    Imports inside functions and imports for type checkers count too.
    """
    text = path.read_text(encoding="utf-8")
    found: Iterator[tuple[str, str]]
    if path.suffix == ".py":
        found = chain.from_iterable(map(_names_of, ast.walk(ast.parse(text))))
    else:
        found = (
            (module or plain, name)
            for module, names, plain in CIMPORT.findall(text)
            for name in (NAME.findall(names.split("#")[0]) if module else [""])
        )
    return [
        (f"{module}.{name}", "") if f"{module}.{name}" in modules() else (module, name)
        for module, name in found
        if module.split(".")[0] == "fastbpe"
    ]


def _names_of(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, f"line {node.lineno}: imports are absolute here"
        yield from ((node.module or "", alias.name) for alias in node.names)


def modules_imported(module: str) -> set[str]:
    found = {name for path in modules()[module] for name, _ in names_imported(path)}
    return {name for name in found if name in modules()} - {module}


def folder_of(module: str) -> str:
    """Return the folder of a module, as LAYERS names it; a module in the root is a layer of its own."""
    parts = [*module.split("."), "__init__"][1:]
    return "/".join(parts[:2]) if parts[0] == "_core" and len(parts) > 2 else parts[0]


def test_all_sources_are_found_and_their_imports_read() -> None:
    assert len(modules()) > 150
    assert "fastbpe._core.common.hash_tables" in modules_imported("fastbpe._core.merge.merge_piece")
    assert "fastbpe.errors" in modules_imported("fastbpe.tokenizer.loading")


@pytest.mark.daily
def test_modules_import_only_lower_layers() -> None:
    wrong = {}  # module → layers that it imports from and that are not below it
    for module in sorted(modules()):
        here = folder_of(module)
        imported = {folder_of(name) for name in modules_imported(module)} - {here}
        if here == "_core":
            assert not imported, "the package of the core hands nothing on"
            continue
        level = next((i for i, layer in enumerate(LAYERS) if here in layer), None)
        assert level is not None, f"{here} is in no layer: say in this test where it belongs"
        if not imported <= (allowed := set().union(*LAYERS[:level])):
            wrong[module] = imported - allowed
    assert not wrong


def test_slow_twin_stands_on_its_own() -> None:
    for path in (Path(__file__).parents[1] / "reference").glob("*.py"):
        assert not re.search(r"^\s*(from|import) fastbpe", path.read_text(encoding="utf-8"), re.MULTILINE), path


@pytest.mark.daily
def test_imports_form_no_circles() -> None:
    """Remove modules that import none of the rest until nothing changes: the rest lies on circles or above one."""
    left = {module: modules_imported(module) for module in modules()}
    while free := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in free}
    circles = {module: sorted(imported & left.keys()) for module, imported in left.items()}
    assert not circles


def test_package_init_files_hold_no_logic() -> None:
    """Allow imports, docstrings and tables. The root, and the face of tokenizers, may also load names lazily. The
    root may explain a core that is not built."""
    plain = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign, ast.If)
    for path in PACKAGE.rglob("__init__.py"):
        allowed = (*plain, ast.Try, ast.FunctionDef) if path.parent in (PACKAGE, PACKAGE / "tokenizers") else plain
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert not [ast.unparse(statement) for statement in body if not isinstance(statement, allowed)], path


@pytest.mark.daily
def test_private_names_stay_in_their_folder() -> None:
    """Only modules in or below a folder may import a name or module of it that begins with an underscore."""
    outside = set()
    for path in sources():
        for module, name in names_imported(path):
            if module not in modules():  # a folder without code
                continue
            file = modules()[module][0]
            folder = file.parent.parent if file.stem == "__init__" and not name else file.parent
            last = name or module.rpartition(".")[2]
            is_private = last.startswith("_") and not last.startswith("__") and last not in ("_core", "_utils")
            if is_private and folder not in path.parents:
                outside.add((path, module, name))
    assert not outside
