"""Fixtures and hypothesis settings of all tests."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from fastbpe import Tokenizer, train
from fastbpe._utils.threads import usable_cores
from helpers import instruction_sets, missing_packages, processes, sampling
from helpers.instruction_sets import Engine
from helpers.shared_data import standard_library

settings.register_profile("fastbpe", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("fastbpe")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell, and in its children
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "skip tests that need a package that is not installed, in place of failing"
    parser.addoption("--skip-missing", action="store_true", help=told)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report: pytest.CollectReport = yield
    if report.failed and collector.config.getoption("--skip-missing"):
        missing_packages.skip_collected(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report: pytest.TestReport = yield
    if report.failed and call.excinfo is not None and item.config.getoption("--skip-missing"):
        missing_packages.skip_run(report, call.excinfo)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share a run of the whole suite, before pytest-xdist reads its options."""
    n = processes.n_processes(config, usable_cores())
    if n is not None:
        config.option.numprocesses, config.option.dist = n, "worksteal"
    os.environ["FASTBPE_SEED"] = str(sampling.SEED)  # every process draws the same sample, also after midnight


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    return processes.sendable((yield))


def pytest_report_header() -> str:
    if sampling.FULL:
        return "FASTBPE_FULL=1: every case runs"
    part = f"one part in {sampling.SHARE} of the sample"
    return f"slow tests: {part}, FASTBPE_SEED={sampling.SEED}; FASTBPE_FULL=1 runs every case"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Hide the collected tests from the garbage collector, since they live to the end; then collect less often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 10)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # A test that is named on the command line runs with all its cases.
    if any("::" in argument for argument in config.args):
        return
    are_named = not all(os.path.isdir(argument) for argument in config.args)
    items[:], left_out = sampling.split_items(items, are_named=are_named)
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(params=instruction_sets.NAMES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Run the test on the slow twin, then on each instruction set that this machine has."""
    with instruction_sets.engine_named(request.param) as engine:
        if engine is None:
            pytest.skip(f"this machine has no {request.param}")
        yield engine


@pytest.fixture(scope="session")
def code_tokenizer() -> Tokenizer:
    """1,000 entries and two special tokens, learned from 300 kB of Python."""
    return train(
        [standard_library(300_000)],
        vocab_size=1000,
        pattern="cl100k",
        special_tokens=["<|endoftext|>", "<|sep|>"],
        progress=False,
    )


@pytest.fixture(scope="session")
def unsplit_tokenizer() -> Tokenizer:
    """600 entries learned without a split pattern, so that any text is one piece."""
    return train([standard_library(60_000)], vocab_size=600, pattern=None, progress=False)
