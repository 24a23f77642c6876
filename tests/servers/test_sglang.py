"""SGLang's own loader of plugins with the plugin of fastbpe: no model runs.

`.ci/servers` makes the environment. Elsewhere the test is skipped.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastbpe

pytestmark = pytest.mark.skipif(importlib.util.find_spec("sglang") is None, reason="sglang is not installed")

# Imports only parts of the package: the whole needs a compiler for GPUs.
PROGRAM = """
import importlib.util, sys, types
package = types.ModuleType("sglang")
package.__path__ = importlib.util.find_spec("sglang").submodule_search_locations
sys.modules["sglang"] = package
from sglang.srt.plugins import load_plugins
load_plugins()
from transformers import AutoTokenizer
from fastbpe.transformers import status
made = AutoTokenizer.from_pretrained(sys.argv[1])
print(status(made)["accelerated"], made("the cat").input_ids)
"""


@pytest.mark.parametrize("asked", ["", "transformers"])
def test_plugin_patches_the_processes_of_sglang_on_request(tmp_path: Path, asked: str) -> None:
    trained = fastbpe.train(["the cat sat"] * 9, vocab_size=262, progress=False)
    trained.export(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    environment = {**os.environ, "FASTBPE_PATCH": asked}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout == f"{bool(asked)} {trained.encode('the cat')}\n", done.stderr
