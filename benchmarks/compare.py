"""Compare fastbpe with other libraries on one machine in one run, with a bar for every row.

    python benchmarks/compare.py encode|decode|short|batch|count|files [--cold] [--vocab cl100k] [--text english]
        [--peers tiktoken,gigatoken] [--threads N] [--rounds 5] [--json FILE] [--plot FILE]
    python benchmarks/compare.py train [--vocab-size 32000] [--pattern gpt2] [--text english] …
    python benchmarks/compare.py growth --folder DIR --json FILE [--n-bytes 1000000000] [--verdict]
    python benchmarks/compare.py split [--pattern cl100k] [--text FILE]...
    python benchmarks/compare.py dropins [--vocab cl100k] [--text english] [--n-bytes 1000000] [--threads 1]
    python benchmarks/compare.py transformers [--vocab llama3 | --vocab FILE.json] [--text english] [--threads 1]
    python benchmarks/compare.py zoo [--files FILE.json …] [--text english] [--threads 1]
    python benchmarks/compare.py tokens [--vocab cl100k] [--text english] [--n-bytes 4000000]
    python benchmarks/compare.py cores [--vocab cl100k] [--text english] [--threads N]
    python benchmarks/compare.py tails [--vocab cl100k] [--text english] [--peers tiktoken,gigatoken]
    python benchmarks/compare.py load [--formats tiktoken,native] [--rounds 9]
    python benchmarks/compare.py import [--peers tiktoken] [--rounds 9]

A bar is the speed that fastbpe must reach against the best peer; a dream is the speed that we hope for.

Outputs are compared before timing: a peer whose ids differ from the reference's (tiktoken, sentencepiece or
tokenizers, the first that loads the vocabulary) is reported and not timed. Each round times all peers, and the
order rotates from round to round. Every call gets new copies of the texts, made outside the clock. The result is
the median. "cores" is processor time divided by elapsed time: above 1, a library used more than one core. Peers
come from the [bench] extra; a peer that is missing or lacks a workload is reported and left out.

--cold measures each pass in a new process, on a text that the process has never seen; see cold.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import elsewhere
import peers
import report
import texts
from imports import compare_imports
from loads import FILES, compare_loading
from peers.trainers import TRAINERS, trainers_of
from vocabularies import NAMES as VOCABULARIES
from vocabularies import Vocabulary
from workloads import COMMANDS

HELP = {
    "encode": "encode one long text",
    "batch": "encode documents of 2 KB",
    "count": "count the ids of documents of 2 KB",
    "short": "encode strings of 100 bytes, one by one",
    "decode": "decode one long list, and lists of documents",
    "files": "encode files of text into files of ids",
}
ROUNDS = "timed calls of each library in each row (default: %(default)s)"
COLD_FORMS = {"encode": ("text",), "batch": ("flat", "lists")}
DROPINS_TEXT_BYTES = 1_000_000
TOKENS_TEXT_BYTES = 4_000_000
SLOW_PEER_DIVISOR = 16  # a slow peer gets 1/16 of the text


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    _limit_threads(chosen.threads)
    run: Callable[[argparse.Namespace], int] = chosen.run
    return run(chosen)


def _limit_threads(threads: int) -> None:
    """Limit threads and, on Linux, cores, before any library creates a thread pool.

    Args:
        threads: maximum number of threads of every library.
    """
    for variable in ("FASTBPE_NUM_THREADS", "RAYON_NUM_THREADS", "FASTOKENS_BPE_THREADS"):
        os.environ[variable] = str(threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="WORKLOAD")
    for name in COMMANDS:
        command = commands.add_parser(name, help=HELP[name])
        _add_vocabulary(command)
        _add_text(command, rounds=5)
        _add_peers(command)
        command.add_argument(
            "--environment",
            type=elsewhere.environment,
            action="append",
            default=[],
            metavar="PEER=PYTHON",
            help="measure a peer, such as another version of tokenizers, beside fastbpe in the environment of "
            "this Python (repeatable)",
        )
        if name in COLD_FORMS:
            command.add_argument("--cold", action="store_true", help="measure first passes, each in a new process")
        command.set_defaults(run=_compare, workload=name)
    split = commands.add_parser("split", help="split a text on one thread, counting pieces only")
    split.add_argument("--pattern", default="cl100k", choices=_single_patterns())
    split.add_argument("--text", action="append", help="a text or file; default: english, multilingual, code")
    split.add_argument("--rounds", type=int, default=5, help=ROUNDS)
    split.add_argument("--json", type=Path, help="write the figures to this file as JSON")
    split.set_defaults(run=_split, threads=1)
    train = commands.add_parser("train", help="train a vocabulary, each run in a new process")
    train.add_argument(
        "--vocab-size",
        type=int,
        help="number of tokens; default: the rows with a bar, each with its own text and size",
    )
    train.add_argument(
        "--pattern", default="gpt2", choices=_single_patterns(), help="split pattern; all trainers support gpt2"
    )
    train.add_argument("--mode", choices=["byte", "codepoint"], default="byte")
    train.add_argument(
        "--peers", type=_some_of(TRAINERS, ";"), help="trainers, joined by semicolons; default: all of the mode"
    )
    _add_text(train, rounds=3)
    train.set_defaults(run=_train, workload="train")
    growth = commands.add_parser(
        "growth", help="time and memory per byte as texts, calls, vocabularies and special tokens grow"
    )
    _add_vocabulary(growth)
    growth.add_argument(
        "--text", default="english", help=f"corpus that is grown: {', '.join(texts.NAMES)}, or a file"
    )
    growth.add_argument("--n-bytes", type=int, help="largest text; default: 1,000,000,000")
    growth.add_argument(
        "--rounds", type=_at_least_one, default=3, help="runs of each point up to 100 MB; default: 3"
    )
    growth.add_argument("--folder", type=Path, required=True, help="folder for the texts, twice --n-bytes")
    growth.add_argument("--json", type=Path, required=True, help="file of points; a run adds missing ones")
    growth.add_argument("--minutes", type=float, default=25, help="begin no point after this time; default: 25")
    growth.add_argument("--verdict", action="store_true", help="only say which curves of --json rise")
    _add_threads(growth)
    growth.set_defaults(run=_growth)
    one: dict[str, argparse.ArgumentParser] = {}
    for name, run, rounds, help in (
        ("dropins", _dropins, 5, "compare all methods of the drop-ins with fastbpe's own and with the originals"),
        ("transformers", _calls, 5, "compare calls of transformers by backend"),
        ("zoo", _zoo, 5, "compare character-level tokenizers with the library tokenizers"),
        ("tokens", _tokens, 9, "compare methods that work on tokens with plain encode"),
        ("cores", _cores, 5, "run on 1, 2, 4 … threads, and tell what bounds the speed"),
        ("tails", _tails, 5, "measure latencies of calls from 1, 4 and 16 Python threads"),
    ):
        one[name] = commands.add_parser(name, help=help)
        _add_text(one[name], rounds)
        one[name].set_defaults(run=run, workload=name)
        if name != "zoo":
            _add_vocabulary(one[name])
    one["zoo"].add_argument(
        "--files", type=Path, nargs="*", default=[], help="files beside the four that are made"
    )
    _add_peers(one["tails"])
    load = commands.add_parser(
        "load", help="load a vocabulary in each format, compared with the library of the format"
    )
    load.add_argument(
        "--formats",
        type=_some_of(FILES),
        default=list(FILES),
        help=f"formats, joined by commas: {', '.join(FILES)}; default: all",
    )
    load.add_argument("--rounds", type=_at_least_one, default=9, help=ROUNDS)
    load.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to this file")
    load.set_defaults(run=_load, workload="load", text=None, plot=None, threads=1)
    imports = commands.add_parser("import", help="import each library, each time in a new process")
    _add_peers(imports)
    imports.add_argument("--rounds", type=_at_least_one, default=9, help=ROUNDS)
    imports.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to this file")
    imports.set_defaults(run=_import, workload="import", text=None, plot=None, threads=1)
    _add_workers(commands)
    return parser


def _add_workers(commands: Any) -> None:
    """Add the hidden commands that run one measurement in a separate process."""
    cold = commands.add_parser("cold-worker")
    cold.add_argument("peer")
    cold.add_argument("form")
    cold.add_argument("path", type=Path)
    _add_vocabulary(cold)
    _add_threads(cold)
    cold.set_defaults(run=_cold_work)
    growth = commands.add_parser("growth-worker")
    growth.add_argument("folder", type=Path)
    growth.add_argument("curve")
    growth.add_argument("x", type=int)
    _add_vocabulary(growth)
    _add_threads(growth)
    growth.set_defaults(run=_growth_work)
    train = commands.add_parser("train-worker")
    train.add_argument("name")
    train.add_argument("path", type=Path)
    train.add_argument("vocab_size", type=int)
    train.add_argument("pattern")
    train.add_argument("--from-file", action="store_true")
    _add_threads(train)
    train.set_defaults(run=_train_work)


def _add_text(command: argparse.ArgumentParser, rounds: int) -> None:
    command.add_argument("--text", default="english", help=f"{', '.join(texts.NAMES)}, or a UTF-8 file")
    command.add_argument("--n-bytes", type=int, help="number of bytes to read from the text")
    command.add_argument("--rounds", type=_at_least_one, default=rounds, help=ROUNDS)
    command.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to this file")
    command.add_argument("--plot", type=Path, metavar="FILE", help="draw a bar chart in this file (.png, .svg)")
    _add_threads(command)


def _add_vocabulary(command: argparse.ArgumentParser) -> None:
    command.add_argument("--vocab", default="cl100k", help=f"{', '.join(VOCABULARIES)}, or a file")
    command.add_argument("--pattern", default="cl100k", help="the split pattern for a .tiktoken file")


def _add_peers(command: argparse.ArgumentParser) -> None:
    known = peers.ENCODERS
    command.add_argument(
        "--peers", type=_some_of(known, first=["fastbpe"]), default=list(known), help="peers, joined by commas"
    )


def _add_threads(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--threads", type=_at_least_one, default=_n_cores(), help='number of threads in rows "all cores"'
    )


def _compare(chosen: argparse.Namespace) -> int:
    vocabulary = Vocabulary(chosen.vocab, chosen.pattern)
    how = _cold if getattr(chosen, "cold", False) else _warm

    def measure() -> list[dict[str, Any]]:
        results = how(chosen, vocabulary)
        for python in chosen.environment:
            results += elsewhere.rows_of(python, chosen)
        return results

    return _reported(chosen, vocabulary.shown(), measure)


def _train(chosen: argparse.Namespace) -> int:
    from trainings import compare_training

    ours, pattern = "fastbpe", chosen.pattern
    rows = [("english", 30_000_000, 32_000), ("english+multilingual", texts.ALL, 100_000)]
    if chosen.mode == "codepoint":
        ours, pattern = "fastbpe, mode=codepoint", None
        rows = rows[:1]  # the second bar is of byte mode
    names = chosen.peers or trainers_of(chosen.mode)
    names = names if ours in names else [ours, *names]
    if chosen.vocab_size is not None or chosen.text != "english" or chosen.n_bytes is not None:
        rows = [(chosen.text, chosen.n_bytes, chosen.vocab_size or 32_000)]

    def measure() -> list[dict[str, Any]]:
        results = []
        for name, n_bytes, vocab_size in rows:
            text = texts.read(name, n_bytes)
            print(f"\n{name}:")
            results += compare_training(names, text, vocab_size, pattern, chosen.threads, chosen.rounds)
        return results

    return _reported(chosen, f"{', '.join(str(row[2]) for row in rows)} ids", measure)


def _growth(chosen: argparse.Namespace) -> int:
    from growth import Place, compare_growth, print_growth

    known = json.loads(chosen.json.read_text(encoding="utf-8")) if chosen.json.exists() else {"rows": []}
    rows = known["rows"]
    if not chosen.verdict:
        facts = report.machine(chosen.threads) | {"vocabulary": chosen.vocab, "text": chosen.text}
        report.print_machine(facts)
        place = Place(chosen.folder, chosen.vocab, chosen.pattern)
        for measured in compare_growth(
            place, chosen.text, chosen.n_bytes or 1_000_000_000, chosen.rounds, chosen.minutes, rows
        ):
            rows = measured
            report.write_json(chosen.json, facts, rows)
    return 0 if print_growth(rows) else 1


def _growth_work(chosen: argparse.Namespace) -> int:
    from growth import Place, work

    work(Place(chosen.folder, chosen.vocab, chosen.pattern), chosen.curve, chosen.x, chosen.threads)
    return 0


def _dropins(chosen: argparse.Namespace) -> int:
    from dropins import compare_dropins

    vocabulary = Vocabulary(chosen.vocab, chosen.pattern)
    text = texts.read(chosen.text, chosen.n_bytes or DROPINS_TEXT_BYTES)
    return _reported(chosen, vocabulary.shown(), lambda: compare_dropins(vocabulary, text, chosen.rounds))


def _calls(chosen: argparse.Namespace) -> int:
    from hf_calls import compare_calls

    text = texts.read(chosen.text, chosen.n_bytes)
    return _reported(
        chosen, chosen.vocab, lambda: compare_calls(chosen.vocab, chosen.pattern, text, chosen.rounds)
    )


def _zoo(chosen: argparse.Namespace) -> int:
    from zoo import compare_zoo

    text = texts.read(chosen.text, chosen.n_bytes or TOKENS_TEXT_BYTES)
    shown = ", ".join(["made files", *map(str, chosen.files)])
    return _reported(chosen, shown, lambda: compare_zoo(chosen.files, text, chosen.rounds))


def _tokens(chosen: argparse.Namespace) -> int:
    from token_work import compare_token_work

    vocabulary = Vocabulary(chosen.vocab, chosen.pattern)
    text = texts.read(chosen.text, chosen.n_bytes or TOKENS_TEXT_BYTES)
    return _reported(chosen, vocabulary.shown(), lambda: compare_token_work(vocabulary, text, chosen.rounds))


def _cores(chosen: argparse.Namespace) -> int:
    from scaling import compare_cores

    vocabulary = Vocabulary(chosen.vocab, chosen.pattern)
    text = texts.read(chosen.text, chosen.n_bytes)
    return _reported(
        chosen, vocabulary.shown(), lambda: compare_cores(vocabulary.load(), text, chosen.threads, chosen.rounds)
    )


def _tails(chosen: argparse.Namespace) -> int:
    from scaling import compare_tails

    vocabulary = Vocabulary(chosen.vocab, chosen.pattern)
    text = texts.read(chosen.text, chosen.n_bytes or TOKENS_TEXT_BYTES)

    def measure() -> list[dict[str, Any]]:
        loaded, missing = peers.load_all(chosen.peers, vocabulary)
        report.print_notes(missing)
        return compare_tails(loaded, text, chosen.rounds)

    return _reported(chosen, vocabulary.shown(), measure)


def _load(chosen: argparse.Namespace) -> int:
    return _reported(chosen, ", ".join(chosen.formats), lambda: compare_loading(chosen.formats, chosen.rounds))


def _import(chosen: argparse.Namespace) -> int:
    return _reported(chosen, "import", lambda: compare_imports(chosen.peers, chosen.rounds))


def _reported(chosen: argparse.Namespace, what: str, measure: Callable[[], list[dict[str, Any]]]) -> int:
    """Print the machine, measure, and write the files for --json and --plot.

    Args:
        chosen: parsed arguments of the command.
        what: description of the vocabulary, printed and stored.
        measure: function that runs the comparison and returns its rows.
    """
    if chosen.plot:
        report.need_matplotlib()
    facts = report.machine(chosen.threads)
    report.print_machine(facts)
    print(what)
    results = measure()
    if chosen.json:
        report.write_json(chosen.json, facts | {"vocabulary": what, "text": chosen.text}, results)
    if chosen.plot:
        report.plot(chosen.plot, f"{chosen.workload}, {chosen.text}", results)
    return 0


def _warm(chosen: argparse.Namespace, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    from rounds import run_row
    from workloads import Material, rows

    loaded, missing = peers.load_all(chosen.peers, vocabulary)
    report.print_notes(missing)
    if not loaded:
        raise SystemExit("no peer is left to compare")
    owners = [loaded[name] for name in ("tiktoken", "sentencepiece", "tokenizers") if name in loaded]
    reference = owners[0] if owners else next(iter(loaded.values()))
    text = texts.read(chosen.text, chosen.n_bytes)
    whole = Material(text, reference, chosen.threads)
    small = Material(text[: len(text) // SLOW_PEER_DIVISOR + 1], reference, chosen.threads)
    print(f"text {chosen.text}: {whole.n_bytes:,} bytes, {chosen.rounds} rounds, warm")
    results = []
    for row in rows(chosen.workload, chosen.threads, vocabulary.model_type):
        outcome = run_row(row, loaded, whole, small, chosen.rounds)
        report.print_outcome(outcome)
        results.append(report.as_json(outcome))
    return results


def _cold(chosen: argparse.Namespace, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    from cold import COLD_BYTES, compare_cold

    text = texts.read(chosen.text, chosen.n_bytes or COLD_BYTES)
    print(f"text {chosen.text}, {chosen.rounds} rounds, cold")
    forms = COLD_FORMS[chosen.workload]
    return compare_cold(chosen.peers, vocabulary, text, forms, chosen.threads, chosen.rounds)


def _train_work(chosen: argparse.Namespace) -> int:
    from trainings import work

    work(chosen.name, chosen.path, chosen.vocab_size, chosen.pattern, from_file=chosen.from_file)
    return 0


def _cold_work(chosen: argparse.Namespace) -> int:
    from cold import work

    work(chosen.peer, chosen.form, chosen.path, Vocabulary(chosen.vocab, chosen.pattern), chosen.threads)
    return 0


def _split(chosen: argparse.Namespace) -> int:
    from splits import compare_split, split_texts

    report.print_machine(report.machine(chosen.threads))
    results = {name: compare_split(name, text, chosen) for name, text in split_texts(chosen.text).items()}
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def _single_patterns() -> list[str]:
    from fastbpe import PATTERNS

    return [name for name, pattern in PATTERNS.items() if isinstance(pattern, str)]


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _some_of(
    known: Collection[str], separator: str = ",", first: Collection[str] = ()
) -> Callable[[str], list[str]]:
    """Return a function that reads names, joined by a separator; names of `first` are added where they lack."""

    def read(joined: str) -> list[str]:
        names = joined.split(separator)
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {f'{separator} '.join(known)}")
        return [*(name for name in first if name not in names), *names]

    return read


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
