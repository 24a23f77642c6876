"""tools/cross_compile.py parses each function once, and finds every error in files that one process parses."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from helpers.tool_modules import tool

pytest.importorskip("ziglang")
FUNCTION = "static int one(\n    void) {\n#if A\n    if (1) {\n    }\n#endif\n    return 1;\n}\n"


@pytest.fixture(scope="module")
def cross_compile() -> ModuleType:
    return tool("cross_compile")


def test_repeated_function_becomes_a_declaration_on_the_same_lines(cross_compile: ModuleType) -> None:
    parsed: set[tuple[str, ...]] = set()
    code = f"{FUNCTION}int two = 2;\n"
    declared = "static int one(\n    void);" + "\n" * 7 + "int two = 2;\n"
    assert cross_compile.without_repeated(code, parsed) == code
    assert cross_compile.without_repeated(code, parsed) == declared
    other = code.replace("return 1", "return 2")
    assert cross_compile.without_repeated(other, parsed) == other


@pytest.mark.parametrize(
    "code",
    [
        f"#ifdef B\n{FUNCTION}#endif\n",
        f"#ifndef B\n{FUNCTION}#endif\n",
        f"#if B && \\\n    C\n{FUNCTION}#endif\n",
        f"#if B && \\\n    D\n{FUNCTION}#endif\n",
        f"#ifdef B\n#else\n{FUNCTION}#endif\n",
        f"#ifdef B\n#elif C\n{FUNCTION}#endif\n",
        f"#ifdef C\n#ifdef B\n{FUNCTION}#endif\n#endif\n",
    ],
)
def test_function_under_another_condition_stays(cross_compile: ModuleType, code: str) -> None:
    parsed: set[tuple[str, ...]] = set()
    for before in (FUNCTION, f"#ifdef C\n#endif\n#ifdef B\n#endif\n{FUNCTION}", f"#ifdef C\n{FUNCTION}#endif\n"):
        cross_compile.without_repeated(before, parsed)
    assert cross_compile.without_repeated(code, parsed) == code
    assert FUNCTION not in cross_compile.without_repeated(code, parsed)


def test_errors_of_all_files_of_one_process_are_found(cross_compile: ModuleType, tmp_path: Path) -> None:
    codes = {
        "fatal": '#define LEFT 1\nstatic int left(void) { return 1; }\n#include "no_such.h"\n',
        "macro": "int number = LEFT;\n",
        "right": "static int left(void) { return 2; }\nint right(void) { return left(); }\n",
        "function": "int call(void) { return left(); }\n",
    }
    files = [tmp_path / f"{name}.c" for name in codes]
    for file, code in zip(files, codes.values(), strict=True):
        file.write_text(code, encoding="utf-8")
    arguments = cross_compile.command(cross_compile.TARGETS["musl-arm64"], tmp_path)
    arguments = cross_compile.for_many_files(arguments, files[0])
    found = cross_compile.parse(arguments, files)
    said = ["no_such.h", "undeclared identifier 'LEFT'", "undeclared function 'left'"]
    assert [text.count("error:") for text in found] == [1, 1, 1]
    assert all(words in text for words, text in zip(said, found, strict=True))
    assert not cross_compile.parse(arguments, [files[2]])
