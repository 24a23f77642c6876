"""The house rule of imports, read from the sources: arrows point down only."""

import ast
import re
from pathlib import Path

import pytest

# The checkout, not what is installed: an installed package has no .pyx.
PACKAGE = Path(__file__).resolve().parents[2] / "src" / "fastbpe"

# Low to high; a module may import from lower layers and from its own, but for those that stand apart.
LAYERS = (
    {
        "_version",
        "arguments",
        "caching",
        "errors",
        "model",
        "codepoint_model",
        "patterns",
        "extras",
        "known",
        "progress",
        "sinks",
        "templates",
        "threads",
        "unpacking",
    },
    {"_core", "formats"},
    {"source_kinds"},
    {"sources"},
    {
        "codepoints",
        "codepoint_conventions",
        "config",
        "normalization",
        "normalization_tables",
        "normalizers",
        "normalizers_tables",
    }
    | {"script_table", "special", "splitting", "trimming", "untrusted"},
    {
        "assembly",
        "describing",
        "tokenizer",
        "codepoint_tokenizer",
        "codepoint_counting",
        "codepoint_options",
        "codepoint_training",
        "fetching",
        "loading",
        "names",
        "training",
        "counting",
        "counts",
        "extending",
        "files",
        "spilling",
        "measuring",
        "own_tokens",
        "ranking",
        "releasing",
        "exporting",
        "verifying",
        "owners",
    },
    {"tiktoken", "sentencepiece", "minbpe", "cli", "__init__", "__main__"},
)
APART = ("_core", "formats")
_CORE_IMPORTS = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w.]+))", re.MULTILINE)


def sources() -> list[Path]:
    return sorted(path for ending in ("*.py", "*.pyx", "*.pxd", "*.pyi") for path in PACKAGE.rglob(ending))


def part_of(module: str) -> str:
    """The part of the package that a module of it belongs to: fastbpe.formats.native → formats."""
    return [*module.split("."), "__init__"][1]


def imports_of(path: Path) -> set[str]:
    """The modules of fastbpe that a source file imports, by full name."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".pyx", ".pxd"):
        modules = {a or b for a, b in _CORE_IMPORTS.findall(text)}
        return {module for module in modules if module.split(".")[0] == "fastbpe"}
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports are absolute here"
            if node.module == "fastbpe":
                found |= {f"fastbpe.{alias.name}" for alias in node.names if is_module(alias.name)} or {"fastbpe"}
            else:
                found.add(node.module or "")
    return {module for module in found if module.split(".")[0] == "fastbpe"}


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or any(PACKAGE.glob(f"{name}.*"))


def test_there_are_sources_to_read() -> None:
    assert len(sources()) > 20
    assert "fastbpe._core.common.hash_tables" in imports_of(PACKAGE / "_core" / "merge.pyx")
    assert "fastbpe.formats" in imports_of(PACKAGE / "tokenizer.py")


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_arrows_point_down_only(path: Path) -> None:
    here = path.relative_to(PACKAGE).parts[0].split(".")[0]
    imported = {part_of(module) for module in imports_of(path)} - {here}
    if here == "_reference":
        assert not imported, "the slow twin stands on its own"
        return
    assert "_reference" not in imported, "only tests and docs read the slow twin"
    level = next((i for i, layer in enumerate(LAYERS) if here in layer), None)
    assert level is not None, f"{here} is in no layer: say in this test where it belongs"
    allowed = set().union(*LAYERS[: level + 1])
    assert imported <= allowed, f"{here} imports from a layer above: {imported - allowed}"
    if here in APART:
        assert not imported & set(APART), "formats and _core never import each other"
