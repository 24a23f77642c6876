"""fastbpe count --messages: files of chats, and what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from cli.conftest import Run
from fastbpe.chats import message_counts, worker
from fastbpe.cli import count as count_command

pytest.importorskip("jinja2", reason="needs the extra chat")

CHAT = [{"role": "system", "content": "low"}, {"role": "user", "content": "lower lowest"}]
TOOLS = [{"type": "function", "function": {"name": "f"}}]
TEMPLATE = "{{ tools | tojson if tools }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


@pytest.fixture
def model(tmp_path: Path, folder: Path) -> Path:
    """A model's folder with a chat template."""
    made = tmp_path / "model"
    made.mkdir()
    fastbpe.load(folder / "model.fbpe").export(made / "tokenizer.json")
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return made


def written(path: Path, *values: Any) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def test_chats_of_files_are_counted(run: Run, model: Path, tmp_path: Path) -> None:
    tokenizer = fastbpe.load(model)
    one, tools = tokenizer.count_messages(CHAT), tokenizer.count_messages(CHAT, tools=TOOLS)
    assert one != tools
    chat = written(tmp_path / "chat.json", CHAT)
    assert run("count", "-m", model, "--messages", chat).out.decode() == f"{one} {chat}\n"
    assert run("count", "-m", model, "--messages", stdin=chat.read_bytes()).out.decode() == f"{one}\n"
    requests = [{"messages": CHAT}, {"messages": CHAT, "tools": TOOLS, "model": "x"}, {"body": {"messages": CHAT}}]
    lines = written(tmp_path / "requests.jsonl", *requests)
    done = run("count", "-m", model, "--messages", lines)
    counts = [one, tools, one]
    rows = [line.split() for line in done.out.decode().splitlines()]
    assert rows == [
        *([str(n), f"{lines}:{i}"] for i, n in enumerate(counts, 1)),
        [str(sum(counts)), "total"],
    ]
    array = written(tmp_path / "array.json", [CHAT, CHAT])
    found = json.loads(run("count", "-m", model, "--messages", "--json", array).out)
    assert [row["n_tokens"] for row in found] == [one, one]
    assert [row["is_estimate"] for row in found] == [False, False]


def test_template_of_a_file_or_of_the_model_is_chosen(run: Run, model: Path, tmp_path: Path) -> None:
    named = [{"name": "default", "template": TEMPLATE}, {"name": "short", "template": "{{ messages[0].content }}"}]
    (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    tokenizer, chat = fastbpe.load(model), written(tmp_path / "chat.json", CHAT)
    own = [tmp_path / name for name in ("own.jinja", "own.jinja2", "own.j2")]
    for path in own:
        path.write_text("{{ messages[1].content }}!", encoding="utf-8-sig")
    counts = [tokenizer.count_messages(CHAT), tokenizer.count("low"), tokenizer.count("lower lowest!")]
    assert len({*counts}) == 3
    for template, count in [(None, counts[0]), ("short", counts[1]), *((path, counts[2]) for path in own)]:
        chosen = () if template is None else ("--template", template)
        assert run("count", "-m", model, "--messages", *chosen, chat).out.decode() == f"{count} {chat}\n"


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("shortt", "--template shortt is not a name (default, harmony) or the text of a jinja2 template"),
        ("none.jinja", "none.jinja: No such file"),
        (
            "bytes.jinja",
            "bytes.jinja:2: not UTF-8: invalid byte 0xff at offset 6; a template must be UTF-8",
        ),
    ],
)
def test_unknown_template_is_refused(run: Run, model: Path, tmp_path: Path, template: str, told: str) -> None:
    (tmp_path / "bytes.jinja").write_bytes(b"\xef\xbb\xbfa\n \xff")
    name = str(tmp_path / template) if "." in template else template
    done = run("count", "-m", model, "--messages", "--template", name, written(tmp_path / "chat.json", CHAT))
    assert done.failed_with(told)


def test_template_without_messages_is_refused(run: Run, model: Path, folder: Path) -> None:
    done = run("count", "-m", model, "--template", "default", folder / "a.txt")
    assert done.status == 2
    assert "--template needs --messages" in done.err


def test_estimates_are_called_so(run: Run, tmp_path: Path) -> None:
    made = fastbpe.Tokenizer.from_merges([], pattern=None, name="cl100k_base")
    made.save(tmp_path / "closed.fbpe")
    chat = written(tmp_path / "chat.json", CHAT)
    done = run("count", "-m", tmp_path / "closed.fbpe", "--messages", chat)
    assert done.out.decode() == f"{made.count_messages(CHAT)} {chat}\n"
    assert "the counts are estimates" in done.err
    [row] = json.loads(run("count", "-m", tmp_path / "closed.fbpe", "--messages", "--json", chat).out)
    assert row["is_estimate"] is True


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"{", ("chat.json: not JSON",)),
        (b'{"messages": []}\n\xff', ("chat.json:2: not UTF-8: invalid byte 0xff at offset 17; JSON must be",)),
        (b"5", ("chat.json: not a chat: expected messages", '"tools"')),
        (b"[]", ("chat.json: messages is empty",)),
        (b'{"messages": [{"role": "user", "content": "a"}]}\n{"a": 1}\n', ("chat.json:2: not a chat",)),
        (b'{"messages": []}\n{\n', ("chat.json:2: not JSON",)),
        (b'[{"role": "user"}, "a"]', ("chat.json: messages[1] must be a dict",)),
    ],
)
def test_other_files_are_refused_by_their_place(
    run: Run, model: Path, tmp_path: Path, data: bytes, told: tuple[str, ...]
) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(data)
    assert run("count", "-m", model, "--messages", path).failed_with(*told)


def test_model_without_template_is_refused_with_the_way_out(run: Run, folder: Path, tmp_path: Path) -> None:
    chat = written(tmp_path / "chat.json", CHAT)
    done = run("count", "-m", folder / "model.fbpe", "--messages", chat)
    assert done.failed_with("chat.json: this tokenizer has no chat template: load the model's folder")


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on processor time")
@pytest.mark.parametrize("file", ["loop.jinja", "loop.j2", None])
def test_endless_template_ends_with_its_name_and_the_way_out(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str | None
) -> None:
    monkeypatch.setattr(message_counts, "LIMITS", message_counts.LIMITS._replace(n_seconds=1))
    chat = written(tmp_path / "chat.json", CHAT)
    if file is not None:
        (tmp_path / file).write_text(LOOP)
        done = run("count", "-m", model, "--messages", "--template", tmp_path / file, chat)
    else:
        (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": LOOP}))
        done = run("count", "-m", model, "--messages", chat)
    name = model if file is None else tmp_path / file
    assert done.failed_with(f"{name}: chat template: it needs more than 1 second; choose another template")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_killed_worker_is_reported_as_killed(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dies.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.setattr(worker, "_PROGRAM", tmp_path / "dies.py")
    done = run("count", "-m", model, "--messages", written(tmp_path / "chat.json", CHAT))
    assert done.failed_with(
        "chat template: the process that renders it was killed; perhaps this machine has too little"
    )


def test_template_that_needs_much_memory_is_refused_and_others_are_counted(
    run: Run, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.jinja").write_text("{{ messages[0].content * (10 ** 11 if messages | length > 1 else 1) }}")
    chats = written(tmp_path / "chats.jsonl", {"messages": CHAT}, {"messages": CHAT[:1]})
    done = run("count", "-m", model, "--messages", "--template", tmp_path / "own.jinja", chats)
    assert done.status == 1
    assert "chats.jsonl:1: chat template: the template needs more than 2,147,483,648 bytes of memory" in done.err
    assert done.out.decode() == f"{fastbpe.load(model).count('low')} {chats}:2\n"


@pytest.mark.daily
def test_each_chat_has_its_own_seconds(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All chats together take more than the limit, and each takes less."""
    monkeypatch.setattr(message_counts, "LIMITS", message_counts.LIMITS._replace(n_seconds=2))
    monkeypatch.setattr(worker, "PATIENCE", 150)  # real seconds for each: the machine may be busy
    (tmp_path / "slow.jinja").write_text(
        "{% for a in range(99999) %}{% for b in range(40) %}{% endfor %}{% endfor %}x"
    )

    def seconds_of(n_chats: int) -> float:
        chats = written(tmp_path / "chats.jsonl", *[{"messages": CHAT}] * n_chats)
        start = os.times().children_user
        done = run("count", "-m", model, "--messages", "--template", tmp_path / "slow.jinja", chats)
        assert (done.status, len(done.out.splitlines())) == (0, n_chats + (n_chats > 1)), done
        return os.times().children_user - start

    assert seconds_of(round(12 / seconds_of(4))) > 2


def test_chats_of_several_workers_keep_their_order(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_command, "_N_CHATS", 2)
    requests = [{"messages": [{"role": "user", "content": "low " * n}]} for n in range(1, 6)]
    done = run("count", "-m", model, "--messages", written(tmp_path / "chats.jsonl", *requests))
    tokenizer = fastbpe.load(model)
    expected = [tokenizer.count_messages(request["messages"]) for request in requests]
    assert [int(line.split()[0]) for line in done.out.decode().splitlines()] == [*expected, sum(expected)]


@pytest.mark.parametrize("flags", [["--lines"], ["--separator", "a"], ["--text-field", "a"]])
def test_flags_of_text_are_refused_with_messages(run: Run, model: Path, tmp_path: Path, flags: list[str]) -> None:
    chat = written(tmp_path / "chat.json", CHAT)
    done = run("count", "-m", model, "--messages", *flags, chat)
    assert done.status == 2
    assert (
        "--lines, --separator, --text-field and --format: they are for text, and --messages reads JSON" in done.err
    )
