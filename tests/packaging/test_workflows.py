"""The workflows of GitHub name every supported Python, and pin what they use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fuzz.run import names

yaml = pytest.importorskip("yaml")
tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", name)]
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
GROUP = "wheel-test"  # name of a group of dependencies, which stands after --group like a package
WORKFLOWS: dict[str, Any] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}


def test_every_supported_python_is_tested_and_gets_wheels() -> None:
    assert PYTHONS[0] == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert WORKFLOWS["tests.yml"]["jobs"]["unit"]["strategy"]["matrix"]["python"] == PYTHONS
    built = PROJECT["tool"]["cibuildwheel"]["build"].split()
    tags = [f"cp{python.replace('.', '')}-*" for python in PYTHONS]
    assert [name for name in built if "t-" not in name] == tags


def test_free_threaded_wheels_are_built_once_the_modules_are_declared_ready() -> None:
    is_declared = "freethreading_compatible" in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert ("skip" in PROJECT["tool"]["cibuildwheel"]) == (not is_declared)
    assert {"cp314t-*", "cp315t-*"} <= set(PROJECT["tool"]["cibuildwheel"]["build"].split())


@pytest.mark.parametrize("name", TEXTS)
def test_actions_are_pinned_to_a_commit_and_say_its_full_version(name: str) -> None:
    used = re.findall(r"uses: (.*)", TEXTS[name])
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("name", TEXTS)
def test_packages_are_pinned_to_a_version(name: str) -> None:
    for line in re.findall(r"pip install (.*)", TEXTS[name]):
        for package in line.split():
            assert package.startswith(("-", '"pip>')) or "==" in package or package in (GROUP, "."), line


def test_only_the_job_that_publishes_gets_a_token() -> None:
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}
        for title, job in workflow["jobs"].items():
            assert ("permissions" in job) == ((name, title) == ("release.yml", "publish"))
    publish = WORKFLOWS["release.yml"]["jobs"]["publish"]
    assert publish["environment"]["name"] == "pypi"
    assert set(publish["needs"]) == {"minimum", "check"}
    assert publish["if"] == "github.event_name == 'push' && github.ref_type == 'tag'"


def test_each_fuzz_target_gets_a_minute() -> None:
    assert f"tests/fuzz/run.py --seconds {60 * len(names())} " in TEXTS["tests.yml"]
