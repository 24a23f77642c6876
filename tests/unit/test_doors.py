"""Modules that `import fastbpe` alone reaches: `fastbpe.tiktoken`, `fastbpe.spark`, …"""

from __future__ import annotations

import pytest

from helpers.child_processes import run_python

DOORS = ["minbpe", "ray", "rustbpe", "sentencepiece", "spark", "tiktoken", "tokenizers", "transformers"]
#: Packages that the modules serve: fastbpe works without them.
HIDE = """
import sys
for name in ("numpy", "pyarrow", "pyspark", "ray", "sentencepiece", "tiktoken", "tokenizers", "transformers"):
    sys.modules[name] = None
"""


@pytest.mark.parametrize("name", DOORS)
def test_each_module_is_reached_after_plain_import(name: str) -> None:
    printed = run_python(f"import fastbpe; assert {name!r} in dir(fastbpe); print(fastbpe.{name}.__name__)")
    assert printed == f"fastbpe.{name}\n"


def test_plain_import_imports_none_of_them() -> None:
    printed = run_python(f"import fastbpe, sys; print([n for n in {DOORS} if f'fastbpe.{{n}}' in sys.modules])")
    assert printed == "[]\n"


@pytest.mark.daily
def test_every_name_of_dir_can_be_asked_for_without_any_package() -> None:
    printed = run_python(f"{HIDE}\nimport fastbpe, inspect; print([n for n, _ in inspect.getmembers(fastbpe)])")
    assert set(DOORS) <= set(eval(printed))


def test_dir_lists_public_names_and_no_helper() -> None:
    printed = run_python("import fastbpe; print(sorted(set(dir(fastbpe)) - set(fastbpe.__all__)))")
    assert sorted(name for name in eval(printed) if not name.startswith("__")) == DOORS


def test_call_without_its_package_is_an_import_error_that_names_it() -> None:
    spark = 'fastbpe.spark needs pyspark: pip install "fastbpe-tokenizer[spark]"'
    ray = 'fastbpe.ray needs ray: pip install "fastbpe-tokenizer[ray]"'
    transformers = "fastbpe.transformers needs transformers: pip install transformers"
    calls = {
        "spark.count_pieces(None, 'text')": spark,
        "ray.count_pieces(None, 'text')": ray,
        "transformers.accelerate(None)": transformers,
        "transformers.patch()": transformers,
        "transformers.patch(existing=True)": transformers,
        "transformers.unpatch()": transformers,
        "transformers.status(None)": transformers,
    }
    printed = run_python(
        f"""{HIDE}
import fastbpe
for call in {[*calls]}:
    try:
        eval("fastbpe." + call)
    except ImportError as error:
        print(call, error, sep=": ")
"""
    )
    assert printed.splitlines() == [f"{call}: {said}" for call, said in calls.items()]


def test_patch_of_the_environment_leaves_a_process_without_transformers_alone() -> None:
    printed = run_python(f"{HIDE}\nimport fastbpe.transformers; print('runs')", FASTBPE_PATCH="transformers")
    assert printed == "runs\n"


@pytest.mark.daily
def test_functions_behind_a_door_can_be_pickled() -> None:
    printed = run_python(
        """
import pickle
import fastbpe
for value in (fastbpe.spark.count_pieces, fastbpe.tiktoken.Encoding, fastbpe.train):
    assert pickle.loads(pickle.dumps(value)) is value
print("equal")
"""
    )
    assert printed == "equal\n"
