"""Temporary files and folders: gone after a kill and one more run, and never taken from a process that lives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._utils import file_locks, own_places
from fastbpe._utils.own_places import own_file, own_folder, remove_leftovers
from fastbpe.formats import atomic_files
from helpers.child_processes import run_python
from helpers.killed_runs import RUN_KILLED
from helpers.sampling import rounds

pytestmark = pytest.mark.skipif(file_locks.fcntl is None, reason="this system has no locks of files")

# Run a piece of code that is killed before its n-th file operation, then run it whole, for each n.
KILLED = (
    RUN_KILLED
    + """
import pathlib, shutil
code, folder, text = sys.argv[1:]
import fastbpe, hashlib, json, random, fastbpe.training.piece_counts, fastbpe.id_files.shards
from fastbpe.published import downloads
tokenizer = fastbpe.train(["ab ab"], vocab_size=257, progress=False)
codepoint = fastbpe.train(["ab ab"], vocab_size=6, mode="codepoint", progress=False, hard_vocab_limit=False)
counts = fastbpe.count_pieces(iter(["a b"]), progress=False)
os.environ["XDG_CACHE_HOME"] = folder
code = compile(code, "code", "exec")
def work():
    exec(code, globals())
def tree():
    found = sorted(pathlib.Path(folder).rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}
os.mkdir(folder)
assert not run_killed(work, 0)
once = tree()
n, was_killed = 0, True
while was_killed:
    shutil.rmtree(folder)
    os.mkdir(folder)
    n += 1
    was_killed = run_killed(work, n)
    assert not run_killed(work, 0)
    assert tree() == once, (n, sorted(tree()))
print(n)
"""
)
WRITERS = {
    "save": "tokenizer.save(folder + '/t.fbpe')",
    "folder": "tokenizer.export(folder + '/gpt2', format='gpt2')",
    "transformers": "tokenizer.export(folder + '/hf', format='huggingface')",
    "codepoint": "codepoint.export(folder + '/t.model', format='sentencepiece')",
    "counts": "counts.save(folder + '/c.pieces')",
    "merge": "counts.save(folder + '/c.pieces'); "
    "fastbpe.PieceCounts.merge([folder + '/c.pieces'] * 2, folder + '/all.pieces', progress=False)",
    "write_shard": "fastbpe.write_shard(tokenizer, ['a', 'b'], folder + '/out.bin', (0, 2))",
    "encode_files": "tokenizer.encode_files("
    "text, folder + '/ids.bin', shard=(0, 1), num_threads=1, progress=False)",
    "fetch": "downloads._keep(folder + '/fastbpe/a/b.bin', b'x')",
}


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.daily
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WRITERS)
def test_writer_killed_before_any_operation_leaves_nothing_after_one_more_run(name: str, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b")
    assert int(run_python(KILLED, WRITERS[name], str(tmp_path / "out"), str(text))) > 3


@contextmanager
def killed_writer(code: str, *arguments: str) -> Iterator[None]:
    """Run code in a child until it prints a line, hold it there, and kill it at the end."""
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=-1, stdout=-1, text=True)
    assert child.stdout is not None
    with child:
        try:
            assert child.stdout.readline() == "ready\n"
            yield
        finally:
            child.kill()


HOLD = """
import sys, time
from fastbpe._utils.own_places import own_file, own_folder
with own_file(sys.argv[1]) as file, own_folder(sys.argv[1]) as folder:
    open(file, "w").write("half")
    open(folder + "/half", "w").close()
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_file_of_a_live_writer_stays_until_it_is_killed(tmp_path: Path) -> None:
    target = str(tmp_path / "a.bin")
    with killed_writer(HOLD, target):
        atomic_files.write(target, b"other")
        remove_leftovers([target])
        assert len([*tmp_path.iterdir()]) == 3
    assert len([*tmp_path.iterdir()]) == 3
    atomic_files.write(target, b"whole")
    assert tree(tmp_path) == {"a.bin": b"whole"}


def test_leftovers_of_other_targets_and_names_of_users_stay(tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "a.bin"), str(tmp_path / "b[.bin")
    with killed_writer(HOLD, ours), killed_writer(HOLD, theirs):
        pass
    place = next(path for path in sorted(tmp_path.iterdir()) if path.is_file()).name
    users = {".a.bin.fastbpe", "a.bin.partial", place.replace(".fastbpe", ".fastbpe2"), place[1:], place.upper()}
    for name in users:
        (tmp_path / name).write_text("a user's")
    link = tmp_path / f"{own_places._beginning(ours)}{'0' * 16}.fastbpe"
    link.symlink_to(tmp_path / "a.bin.partial")
    before = {path.name for path in tmp_path.iterdir()}
    assert len(before) == 4 + len(users) + 1
    remove_leftovers([ours])
    after = {path.name for path in tmp_path.iterdir()}
    assert {name[:18] for name in before - after} == {own_places._beginning(ours)}
    assert len(before - after) == 2
    assert link.is_symlink()
    remove_leftovers([theirs])
    assert {path.name for path in tmp_path.iterdir()} == {*users, link.name}


def test_places_have_names_and_modes_that_any_file_system_takes(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 120 + ".bin")
    atomic_files.write(target, b"x")
    with own_file(str(target), 0o600) as file, own_folder(str(target)) as folder:
        assert (os.stat(file).st_mode & 0o777, os.stat(folder).st_mode & 0o777) == (0o600, 0o700)
    assert tree(tmp_path) == {target.name: b"x"}
    with pytest.raises(FileNotFoundError), own_file(str(tmp_path / "no" / "a")):
        pass


def test_folder_that_cannot_be_listed_or_locked_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(95, "not supported")

    target = str(tmp_path / "a.bin")
    monkeypatch.setattr(file_locks.fcntl, "flock", fail)
    with ExitStack() as own:
        own.enter_context(own_file(target))
        own.enter_context(own_folder(target))
        remove_leftovers([target])
        assert len([*tmp_path.iterdir()]) == 2
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", fail)
        atomic_files.write(target, b"x")
    assert tree(tmp_path) == {"a.bin": b"x"}


WRITE = """
import os, random, signal, sys
target, seed = sys.argv[1:]
from fastbpe._utils.own_places import own_folder
from fastbpe.formats import atomic_files
generator = random.Random(int(seed))
n_left = generator.randrange(20, 3000)
def count(event, arguments):
    global n_left
    n_left -= event.startswith(("open", "fcntl", "os."))
    if not n_left:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
for i in range(150):
    atomic_files.write(target, b"%d" % i * 1000)
    with own_folder(target) as folder:
        open(folder + "/a", "x").close()
        os.stat(folder + "/a")
"""


@pytest.mark.daily
def test_many_writers_of_one_target_never_lose_their_file(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    for seed in rounds(1, 50):
        children = [
            subprocess.Popen([sys.executable, "-c", WRITE, str(target), str(8 * seed + i)], stderr=subprocess.PIPE)
            for i in range(5)
        ]
        for child in children:
            said = child.communicate()[1]
            assert child.returncode in (0, -9), said.decode()
        data = target.read_bytes()
        assert len({*data[:: len(data) // 1000]}) <= 1
        assert len(data) % 1000 == 0
        atomic_files.write(target, b"whole")
        assert tree(tmp_path) == {"a.bin": b"whole"}


def test_write_shard_and_encode_files_clear_what_the_other_left(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges([], pattern=None)
    (tmp_path / "ids").mkdir()
    (tmp_path / "x.txt").write_text("a b")
    shard = tmp_path / "ids" / "a-00000-of-00001.bin"
    for write in (
        lambda: tokenizer.encode_files(tmp_path / "x.txt", tmp_path / "ids" / "a.bin", shard=(0, 1)),
        lambda: fastbpe.write_shard(tokenizer, ["a b"], tmp_path / "ids" / "a.bin", (0, 1)),
    ):
        with killed_writer(HOLD, str(shard)):
            pass
        write()
        assert not [path for path in (tmp_path / "ids").iterdir() if path.name.startswith(".")]
    assert fastbpe.open_ids(tmp_path / "ids").n_ids == 3
