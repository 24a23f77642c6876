"""Comparing outputs, then timing in rounds over all peers, so that a slow moment affects all of them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

from peers import Peer, Unsupported
from workloads import Material, Row

Item = TypeVar("Item")

SLOW_SECONDS = 0.6  # a peer that needs longer for the text gets 1/16 of it


@dataclass
class Timing:
    """Timed calls of one peer in one row."""

    n_bytes: int
    seconds: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)  # processor seconds of all threads per elapsed second

    @property
    def speed(self) -> float:
        """Speed in MB of UTF-8 per second, from the median."""
        return self.n_bytes / statistics.median(self.seconds) / 1e6

    @property
    def best(self) -> float:
        return self.n_bytes / min(self.seconds) / 1e6


@dataclass
class Outcome:
    """Results of a row: timings by peer, and for other peers the reason why they were not timed."""

    row: Row
    timings: dict[str, Timing] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Speed of fastbpe divided by the best peer's."""
        others = [timing.speed for name, timing in self.timings.items() if name != "fastbpe"]
        if "fastbpe" not in self.timings or not others:
            return None
        return self.timings["fastbpe"].speed / max(others)


def times(outcome: Outcome, peer: str) -> float | None:
    """Return the speed of fastbpe divided by a peer's."""
    timings = outcome.timings
    return timings["fastbpe"].speed / timings[peer].speed if {"fastbpe", peer} <= timings.keys() else None


def run_row(row: Row, peers: Mapping[str, Peer], text: Material, small: Material, rounds: int) -> Outcome:
    """Compare every peer's output, then time the peers with the right one.

    Args:
        row: workload.
        peers: adapters by name.
        text: the whole text.
        small: a part of it, for slow peers.
        rounds: number of timed calls of each peer.
    """
    outcome = Outcome(row)
    threads = row.threads or text.threads
    material: dict[str, Material] = {}
    for name, peer in peers.items():
        try:
            difference = _difference(row, peer, small, threads)
            seconds, _ = _time(row, peer, small, threads)  # the first call would measure warming up
            slow = name != "fastbpe" and seconds * row.n_bytes(text) / row.n_bytes(small) > SLOW_SECONDS
            if not slow and difference is None:
                difference = _difference(row, peer, text, threads)
        except Unsupported as reason:
            outcome.notes[name] = str(reason)
        except Exception as error:
            outcome.notes[name] = f"failed: {type(error).__name__}: {error}"
        else:
            if difference is not None:
                outcome.notes[name] = f"ids differ: {difference}"
            else:
                material[name] = small if slow else text
                outcome.timings[name] = Timing(row.n_bytes(material[name]))
    names = list(material)
    gc.collect()
    gc.freeze()
    for number in range(rounds):
        for name in turned(names, number):
            seconds, cores = _time(row, peers[name], material[name], threads)
            outcome.timings[name].seconds.append(seconds)
            outcome.timings[name].cores.append(cores)
    return outcome


def turned(items: Sequence[Item], number: int) -> list[Item]:
    """Return the items with another one first in each round."""
    turn = number % max(1, len(items))
    return [*items[turn:], *items[:turn]]


def _difference(row: Row, peer: Peer, material: Material, threads: int) -> str | None:
    """Return the first difference between a peer's output and the reference's, or None."""
    output = row.run(peer, row.inputs(material), threads)
    return first_difference(row.plain(output), row.expected(material))


def _time(row: Row, peer: Peer, material: Material, threads: int) -> tuple[float, float]:
    inputs = row.inputs(material)
    return timed(lambda: row.run(peer, inputs, threads))


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of one call, and the cores that it used. Its result is dropped outside the clock."""
    gc.collect()
    gc.disable()  # as timeit does: a collection belongs to no particular call
    try:
        busy, started = time.process_time(), time.perf_counter()
        output = call()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    finally:
        gc.enable()
    del output
    return seconds, busy / seconds


def first_difference(output: Any, expected: Any, where: str = "") -> str | None:
    """Return the first difference of two outputs (nested lists or texts), or None if they are equal."""
    if output == expected:
        return None
    if not isinstance(output, (list, str)) or not isinstance(expected, (list, str)):
        return f"{output!r} instead of {expected!r} at {where or 'the start'}"
    for at, (mine, wanted) in enumerate(zip_longest(output, expected)):
        if mine != wanted:
            place = f"{where}[{at}]"
            if isinstance(mine, list) and isinstance(wanted, list):
                return first_difference(mine, wanted, place)
            return f"{_shown(mine)} instead of {_shown(wanted)} at {place}"
    return f"unequal types at {where or 'the start'}"


def _shown(value: Any) -> str:
    return "the end" if value is None else repr(value)[:40]
