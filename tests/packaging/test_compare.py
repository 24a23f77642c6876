"""benchmarks/compare.py works: every workload, a small vocabulary and text, with the peers that are installed."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastbpe
from helpers.codepoint_models import trained
from helpers.shared_data import data_file, standard_library

pytestmark = pytest.mark.daily

COMPARE = Path(__file__).resolve().parents[2] / "benchmarks" / "compare.py"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments that name a vocabulary and a text of some tens of kilobytes."""
    folder = tmp_path_factory.mktemp("compare")
    text = standard_library(40_000) + "日本語 naïve"
    (folder / "text.txt").write_text(text, encoding="utf-8")
    tokenizer = fastbpe.train([text], vocab_size=600, pattern="cl100k", progress=False)
    tokenizer.export(folder / "small.tiktoken", format="tiktoken")
    return ["--text", str(folder / "text.txt"), "--vocab", str(folder / "small.tiktoken")]


def compare(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(COMPARE), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(tmp_path: Path, *arguments: str) -> list[dict[str, dict[str, object]]]:
    """The rows of a run, as --json writes them; in each, fastbpe has a figure, and no ids differ."""
    compare(*arguments, "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    for row in found:
        assert any(name.startswith("fastbpe") for name in row["results"]), row
        assert not any("differ" in note or "failed" in note for note in row["notes"].values()), row
    return found


def test_project_has_the_packages_of_all_peers() -> None:
    tree = ast.parse((COMPARE.parent / "peers" / "__init__.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    (encoders,) = (ast.literal_eval(one.value) for one in assigned if ast.unparse(one.targets[0]) == "ENCODERS")
    project = (COMPARE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert not [package for package in encoders.values() if f'"{package}' not in project]


@pytest.mark.sample(2)
@pytest.mark.parametrize("workload", ["encode", "batch", "count", "short", "decode", "files"])
def test_warm(files: list[str], tmp_path: Path, workload: str) -> None:
    peers = ["--peers", "tiktoken,tokenizers"] if workload != "encode" else []
    found = rows(tmp_path, workload, *files, *peers, "--rounds", "1", "--threads", "2")
    assert any("tiktoken" in row["results"] for row in found) == (workload != "count")


@pytest.mark.sample(1)
@pytest.mark.parametrize("workload", ["encode", "batch", "count", "short", "decode"])
def test_compare_takes_models_of_sentencepiece(tmp_path: Path, workload: str) -> None:
    as_it_is = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    model = trained(["some words of text, some of code, and"] * 9, vocab_size=60, **as_it_is)
    (tmp_path / "small.model").write_bytes(model)
    (tmp_path / "text.txt").write_text("some words of code, and some text " * 900, encoding="utf-8")
    files = ["--text", str(tmp_path / "text.txt"), "--vocab", str(tmp_path / "small.model")]
    found = rows(tmp_path, workload, *files, "--peers", "sentencepiece", "--rounds", "1", "--threads", "2")
    assert any("sentencepiece" in row["results"] for row in found) == (workload != "count")


def test_compare_cold_has_all_peers(files: list[str], tmp_path: Path) -> None:
    (row,) = rows(tmp_path, "encode", "--cold", *files, "--peers", "tiktoken", "--rounds", "1")
    assert set(row["results"]) == {"fastbpe", "tiktoken"}


def test_train(files: list[str], tmp_path: Path) -> None:
    names = 'rustbpe;bpeasy;fastbpe, ties="huggingface";tokenizers'
    sizes = ["--vocab-size", "400", "--rounds", "1", "--peers", names]
    (row,) = rows(tmp_path, "train", *files[:2], *sizes)
    assert set(row["results"]) == {"fastbpe", *names.split(";")}


def test_train_code_points(files: list[str], tmp_path: Path) -> None:
    sizes = ["--mode", "codepoint", "--vocab-size", "300", "--rounds", "1"]
    (row,) = rows(tmp_path, "train", *files[:2], *sizes)
    assert set(row["results"]) == {"fastbpe, mode=codepoint", "sentencepiece"}


def test_split(files: list[str]) -> None:
    assert "| fastbpe engine |" in compare("split", *files[:2], "--rounds", "1")


def test_tokens(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTBPE_DATA", str(tmp_path))  # it has no o200k, so the small vocabulary is changed
    compare("tokens", *files, "--rounds", "1", "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert len(found) == 8 + 9  # methods of tokenizers, then surgery on vocabularies
    assert all(row["seconds"] for row in found)
    assert {len(row["seconds"]) for row in found[8:]} == {1}  # rounds


def test_compare_dropins_has_all_modules(files: list[str], tmp_path: Path) -> None:
    compare("dropins", *files, "--rounds", "1", "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert {row["row"].partition(":")[0] for row in found} == {
        "fastbpe.tiktoken",
        "fastbpe.sentencepiece",
        "fastbpe.minbpe",
    }


def test_zoo(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("matplotlib")
    plot = tmp_path / "zoo.svg"  # without the rows of loading, which have no MB/s
    found = rows(tmp_path, "zoo", *files[:2], "--rounds", "1", "--threads", "1", "--plot", str(plot))
    assert len(found) == 20
    assert plot.stat().st_size
    assert all("tokenizers" in row["results"] for row in found)


def test_transformers(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    found = rows(tmp_path, "transformers", *files, "--rounds", "1", "--threads", "1")
    assert len(found) == 16
    assert all(len(row["results"]) > 1 for row in found)


def test_cores(files: list[str], tmp_path: Path) -> None:
    compare("cores", *files, "--rounds", "1", "--threads", "2", "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert len(found) == 9
    assert all([*row["mb_per_s"]] == ["1", "2"] and row["serial_share"] >= 0 for row in found)


def test_tails(files: list[str], tmp_path: Path) -> None:
    found = rows(tmp_path, "tails", *files, "--rounds", "1", "--peers", "tiktoken")
    assert [one["row"] for one in found] == [f"2 KB calls from {n} threads" for n in (1, 4, 16)]
    assert all(0 < one["p50_us"] <= one["p99.9_us"] for row in found for one in row["results"].values())


def test_load(tmp_path: Path) -> None:
    data_file("vocab", "gpt2_encoder.json")
    compare("load", "--rounds", "1", "--formats", "gpt2,minbpe,native", "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert {row["row"].rpartition(", ")[2] for row in found} >= {"tokenizers", "none"}


def test_import_times_the_module_of_a_peer_of_another_name(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    compare("import", "--rounds", "1", "--peers", "tokenizers_rc", "--json", str(tmp_path / "out.json"))
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    doors = [f"fastbpe.{door}" for door in ("tiktoken", "sentencepiece", "tokenizers")]
    assert [row["row"] for row in found] == [f"import, {name}" for name in ("fastbpe", *doors, "tokenizers")]


def test_unknown_peers_are_refused(files: list[str]) -> None:
    with pytest.raises(AssertionError, match="'nobody' is not one of fastbpe, tiktoken"):
        compare("encode", *files, "--peers", "nobody")


def test_verdict_names_the_curve_that_rises(tmp_path: Path) -> None:
    record, points = tmp_path / "growth.json", []
    for curve, costs in (("train bytes", (0.5, 0.5, 1.2)), ("count pieces of a file", (0.9, 0.2, 0.21))):
        for x, cost in zip((1_000_000, 10_000_000, 100_000_000), costs, strict=True):
            point = {"curve": curve, "over": "bytes of text", "x": x, "threads": 1, "n_bytes": x}
            points.append(
                point | {"seconds": [1.0], "processor_seconds": [cost * x / 1e9], "peak_bytes": [x, x, 2 * x]}
            )
    record.write_text(json.dumps({"rows": points}))
    command = ["growth", "--folder", str(tmp_path), "--json", str(record), "--verdict"]
    done = subprocess.run([sys.executable, str(COMPARE), *command], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "train bytes, 1 threads: at 100,000,000 2.40 × the time per byte" in done.stdout
    assert "count pieces of a file, 1 threads: at" not in done.stdout


def test_growth_keeps_points_and_measures_those_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(standard_library(200_000), encoding="utf-8")
    record = tmp_path / "growth.json"
    known = {"curve": "train bytes", "over": "bytes of text", "x": 1_000_000, "threads": 1, "n_bytes": 1_000_000}
    known |= {"seconds": [1.0], "processor_seconds": [0.5], "peak_bytes": []}
    record.write_text(json.dumps({"rows": [known]}))
    folder = tmp_path / "texts"
    command = ["growth", "--folder", str(folder), "--json", str(record), "--text", str(tmp_path / "text.txt")]
    assert "train bytes | 1 | bytes of text | 1,000,000: 500.00" in compare(
        *command, "--n-bytes", "1000000", "--minutes", "0"
    )
    assert json.loads(record.read_text())["rows"] == [known]
    worker = ["growth-worker", str(folder), "count pieces of a file", "1000000", "--threads", "1"]
    assert json.loads(compare(*worker))["n_bytes"] == 1_000_000


def test_peer_of_another_environment_is_measured_beside_fastbpe(tmp_path: Path, files: list[str]) -> None:
    where = ["--environment", f"tokenizers={sys.executable}", "--peers", "fastbpe", "--rounds", "1"]
    compare("short", *files, *where, "--json", str(tmp_path / "out.json"))
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert any("(tokenizers " in row["row"] and {*row["results"]} == {"fastbpe", "tokenizers"} for row in rows)
