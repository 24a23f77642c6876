"""Fixtures and hypothesis settings of all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from fastbpe import Tokenizer, train
from fastbpe._utils.threads import usable_cores
from helpers import instruction_sets, sampling
from helpers.instruction_sets import Engine
from helpers.shared_data import standard_library

settings.register_profile("fastbpe", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("fastbpe")


# Processes of a run of the whole suite. Each needs up to 3 GB, so that more of them are for who asks: pytest -n 8.
N_PROCESSES = 2


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give a run of the whole suite to several processes, where pytest-xdist is installed.

    A run that names files, folders or tests stays in one process: more of them would take longer to start.
    """
    option = config.option
    has_xdist = hasattr(option, "numprocesses") and not hasattr(config, "workerinput")
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS and not (option.keyword or option.markexpr)
    watched = option.usepdb or option.trace or option.collectonly or option.capture == "no"
    if has_xdist and option.numprocesses is None and not option.tx and whole and not watched:
        option.numprocesses = min(N_PROCESSES, usable_cores())
        option.dist = "worksteal"
    # Every process must draw the same sample, also after midnight.
    os.environ["FASTBPE_SEED"] = str(sampling.SEED)


def pytest_report_header() -> str:
    if sampling.WHOLE:
        return f"FASTBPE_FULL={sampling.LEVEL}: every case runs"
    return f"slow tests: a sample, FASTBPE_SEED={sampling.SEED}; FASTBPE_FULL=ci runs every case"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # A test that is named on the command line runs with all its cases.
    if any("::" in argument for argument in config.args):
        return
    items[:], left_out = sampling.split_items(items)
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
