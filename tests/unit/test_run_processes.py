"""A run of the whole suite is shared by processes, which tell of every failure; every other run stays in one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helpers.processes import MAX_PROCESSES, n_processes

WHOLE = pytest.Config.ArgsSource.TESTPATHS
NO_OPTION = {
    "numprocesses": None,
    "tx": [],
    "dist": "no",
    "keyword": "",
    "markexpr": "",
    "usepdb": False,
    "trace": False,
    "collectonly": False,
    "capture": "fd",
}


def chosen(
    source: pytest.Config.ArgsSource = WHOLE, *, n_cores: int = 64, is_worker: bool = False, **options: Any
) -> int | None:
    config = SimpleNamespace(args_source=source, option=SimpleNamespace(**{**NO_OPTION, **options}))
    if is_worker:
        config.workerinput = {}
    return n_processes(cast(pytest.Config, config), n_cores)


@pytest.mark.parametrize("source", [WHOLE, pytest.Config.ArgsSource.INVOCATION_DIR])
def test_whole_run_is_shared_by_a_few_processes(source: pytest.Config.ArgsSource) -> None:
    assert chosen(source) == MAX_PROCESSES
    assert chosen(source, n_cores=1) is None


@pytest.mark.parametrize(
    "options",
    [
        {"keyword": "merge"},
        {"markexpr": "sample"},
        {"usepdb": True},
        {"trace": True},
        {"collectonly": True},
        {"capture": "no"},
        {"is_worker": True},
        {"source": pytest.Config.ArgsSource.ARGS},
    ],
    ids=str,
)
def test_chosen_or_watched_tests_stay_in_one_process(options: dict[str, Any]) -> None:
    assert chosen(**options) is None


@pytest.mark.parametrize(
    "options", [{"numprocesses": 8}, {"numprocesses": 0}, {"tx": ["popen"]}, {"dist": "load"}]
)
def test_options_of_xdist_are_obeyed(options: dict[str, Any]) -> None:
    assert chosen(**options) is None


def test_missing_xdist_leaves_one_process() -> None:
    config = SimpleNamespace(args_source=WHOLE, option=SimpleNamespace())
    assert n_processes(cast(pytest.Config, config), 64) is None


@pytest.mark.daily
def test_failure_with_a_lone_surrogate_is_told_by_another_process(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    tests = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text((tests / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_text.py").write_text("def test_text():\n    assert '\\udc4d' == 'a'\n", encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "1",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
            str(tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FAILED test_text.py::test_text" in done.stdout
    assert "1 failed" in done.stdout
    assert r"\udc4d" in done.stdout
