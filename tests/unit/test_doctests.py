"""Every example in a docstring does what it shows, and every public name has one."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import sys
from pkgutil import walk_packages

import pytest

import fastbpe
import reference
from fastbpe import SequenceTokenizer, Tokenizer
from fastbpe._compiled import MODULES
from fastbpe.tokenizer import tokenizer as tokenizer_module

#: Packages that the examples of methods need: tests of a wheel install no packages.
NEEDED = {"to_arrow": "pyarrow", "export": "tokenizers"}


def module_names() -> list[str]:
    packages = fastbpe, reference
    names = [module.name for one in packages for module in walk_packages(one.__path__, f"{one.__name__}.")]
    return ["fastbpe", "reference", *sorted(MODULES), *(name for name in names if not name.endswith("__main__"))]


@pytest.mark.daily
@pytest.mark.parametrize("name", module_names())
def test_examples_of_a_module_do_what_they_show(name: str) -> None:
    if name.startswith("fastbpe.transformers."):
        pytest.importorskip("transformers", reason="its examples load tokenizers of transformers")
    if name in ("fastbpe.ray", "fastbpe.spark"):
        pytest.skip("tests/cluster/test_documentation.py runs its examples, with local Spark and Ray")
    if name == "fastbpe._pyinstaller.hook-fastbpe":
        pytest.importorskip("PyInstaller")
    if name in ("fastbpe.tokenizer.tokenizer", "fastbpe.training.piece_counts"):
        pytest.importorskip("pyarrow", reason="its examples make tables")
        pytest.importorskip("tokenizers", reason="its examples export for it")
    results = doctest.testmod(importlib.import_module(name))
    assert not results.failed


def test_compiled_methods_are_among_the_examples() -> None:
    found = {test.name: test for test in doctest.DocTestFinder().find(tokenizer_module)}
    for name in ("encode", "decode", "count", "id_to_token"):
        assert found[f"fastbpe.tokenizer.tokenizer.Tokenizer.{name}"].examples


@pytest.mark.parametrize(
    ("owner", "name"),
    [(owner, name) for owner in (Tokenizer, SequenceTokenizer) for name in dir(owner) if not name.startswith("_")],
)
def test_every_public_member_has_an_example_that_runs(owner: type, name: str) -> None:
    """Cached properties among them, which doctest skips."""
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    doc = inspect.getdoc(inspect.getattr_static(owner, name)) or ""
    test = doctest.DocTestParser().get_doctest(doc, dict(vars(sys.modules[owner.__module__])), name, None, None)
    assert test.examples
    assert not doctest.DocTestRunner().run(test).failed


def test_every_public_name_has_an_example() -> None:
    names = {name for name in fastbpe.__all__ if callable(getattr(fastbpe, name))}
    names -= {name for name in names if inspect.isclass(getattr(fastbpe, name)) and is_error(name)}
    without = {name for name in names if ">>> " not in (inspect.getdoc(getattr(fastbpe, name)) or "")}
    assert not without


def is_error(name: str) -> bool:
    return issubclass(getattr(fastbpe, name), BaseException)


def test_declarations_of_compiled_methods_have_their_signatures() -> None:
    """The names, kinds and defaults of parameters of each `@compiled` method."""
    tree = ast.parse(inspect.getsource(Tokenizer))
    declared = {
        node.name: node.args
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any("compiled" in ast.unparse(d) for d in node.decorator_list)
    }
    assert len(declared) >= 10
    for name, arguments in declared.items():
        method = getattr(Tokenizer, name)
        compiled = inspect.signature(method, follow_wrapped=False).parameters
        keywords = [name for name, parameter in compiled.items() if parameter.kind is parameter.KEYWORD_ONLY]
        assert [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)] == [*compiled]
        assert [argument.arg for argument in arguments.kwonlyargs] == keywords
        defaults = [ast.unparse(value) for value in arguments.kw_defaults if value is not None]
        assert defaults == [repr(compiled[keyword].default) for keyword in keywords]
