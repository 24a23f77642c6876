"""fastbpe web as a process: its address, its flags, its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer

pytestmark = pytest.mark.daily

pytest.importorskip("uvicorn", reason="needs the extra web")

PATIENCE = 300  # seconds: only a hang lasts as long
Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Function that starts the command and returns its process and its first line."""
    running: list[subprocess.Popen[str]] = []

    def begin(*argv: str | Path, **environment: str) -> tuple[subprocess.Popen[str], str]:
        package = str(Path(fastbpe.__file__).parents[1])
        process = subprocess.Popen(
            [sys.executable, "-m", "fastbpe", "web", *map(str, argv)],
            env={**os.environ, "PYTHONPATH": package, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        running.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def page_of(address: str) -> Any:
    with urllib.request.urlopen(f"{address}api/page", timeout=PATIENCE) as answer:
        return json.load(answer)


def test_chat_template_beside_a_model_is_offered(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "models--org--name" / "snapshots" / ("a" * 40)
    folder.mkdir(parents=True)
    Tokenizer.from_merges([(97, 98)], pattern="gpt2").export(folder, format="huggingface")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    saved(tmp_path / "plain.fbpe", 97)
    _, address = start(
        "-m", "org/name", "-m", folder, "-m", "plain.fbpe", "--no-browser", HF_HUB_CACHE=str(tmp_path / "hub")
    )
    assert [one["has_own_template"] for one in page_of(address)["tokenizers"]] == [True, True, False]


def saved(path: Path, left: int) -> Path:
    Tokenizer.from_merges([(left, 98)], pattern=None).save(path)
    return path


def test_page_offers_the_models_by_their_short_names(start: Start, tmp_path: Path) -> None:
    models = [saved(tmp_path / "one.fbpe", 97), saved(tmp_path / "two.fbpe", 98)]
    _, address = start("--no-browser", "-m", models[0], "-m", models[1])
    assert [one["name"] for one in page_of(address)["tokenizers"]] == ["one.fbpe", "two.fbpe"]


def test_models_of_one_name_keep_their_paths(start: Start, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    models = [saved(tmp_path / name / "same.fbpe", 97) for name in "ab"]
    _, address = start("--no-browser", "-m", models[0], "-m", models[1])
    assert [one["name"] for one in page_of(address)["tokenizers"]] == [*map(str, models)]


def test_page_without_models_offers_bytes(start: Start) -> None:
    _, address = start("--no-browser")
    (one,) = page_of(address)["tokenizers"]
    assert (one["name"], one["n_vocab"]) == ("bytes", 256)


def test_ctrl_c_ends_the_server_without_output(start: Start) -> None:
    process, address = start("--no-browser")
    page_of(address)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_server_listens_on_the_requested_port(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    _, address = start("--no-browser", "--port", str(port))
    assert address == f"http://127.0.0.1:{port}/"


def test_taken_port_is_an_error_of_one_line(run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("web", "--no-browser", "--port", str(taken.getsockname()[1]))
    assert done.failed_with("in use")


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_impossible_port_is_refused(run, port: str) -> None:
    done = run("web", "--no-browser", f"--port={port}")
    assert done.status == 2
    assert "is not a port" in done.err


@pytest.mark.skipif(os.name != "posix", reason="the browser is a shell script here")
@pytest.mark.parametrize("flags", [[], ["--no-browser"]])
def test_browser_is_opened_unless_told_otherwise(start: Start, tmp_path: Path, flags: list[str]) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    _, address = start(*flags, BROWSER=str(browser))
    page_of(address)
    waited = time.monotonic()
    while not flags and not opened.exists() and time.monotonic() - waited < PATIENCE:
        time.sleep(0.05)
    assert (opened.read_text() if opened.exists() else None) == (None if flags else address)


def test_flags_for_files_that_hold_no_pattern_are_heeded(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="gpt2").export(path, format="tiktoken")
    _, address = start("--no-browser", "-m", path, "--pattern", "none", "--special", "<s>=300")
    (one,) = page_of(address)["tokenizers"]
    assert (one["n_special"], one["n_vocab"]) == (1, 301)


def test_missing_package_is_named_with_the_way_out(run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("fastbpe.web.", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run("web", "--no-browser").failed_with("uvicorn", 'pip install "fastbpe-tokenizer[web]"')


@pytest.mark.skipif(os.name == "nt", reason="its smallest stacks are larger")
def test_deep_json_is_refused_even_where_threads_have_small_stacks(start: Start, tmp_path: Path) -> None:
    """musl gives a thread 128 KiB; the page's tokenizers are loaded in threads."""
    (tmp_path / "sitecustomize.py").write_text("import threading\nthreading.stack_size(128 << 10)\n")
    package = Path(fastbpe.__file__).parents[1]
    _, address = start("--no-browser", PYTHONPATH=os.pathsep.join(map(str, (tmp_path, package))))
    for depth in (900, 2000):
        deep = "[" * depth + "]" * depth
        content = f'{{"normalizer":{deep},"model":{{"type":"BPE","vocab":{{}},"merges":[]}}}}'.encode()
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{address}api/add", content, timeout=PATIENCE)
        assert error.value.code == 400
        error.value.close()
