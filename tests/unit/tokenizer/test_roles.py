"""Roles of special tokens: given, guessed, saved and exported."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, Literal

import pytest

import fastbpe
from fastbpe import FormatError, SpecialTokenError, Tokenizer, TrainingError
from fastbpe.model import ROLES

NAMES = [f"[R{number}]" for number in range(len(ROLES))]
GIVEN = dict(zip(ROLES, NAMES, strict=True))


def byte_level(**options: Any) -> Tokenizer:
    return fastbpe.train(
        ["ab ab abc"], vocab_size=256 + len(NAMES), pattern="gpt2", special_tokens=NAMES, progress=False, **options
    )


def code_points(**options: Any) -> Tokenizer:
    return fastbpe.train(
        ["ab ab abc"],
        mode="codepoint",
        vocab_size=17,
        control_symbols=NAMES,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        progress=False,
        **options,
    )


@pytest.mark.parametrize("make", [byte_level, code_points])
def test_roles_of_training_reach_every_form(make: Any, tmp_path: Path) -> None:
    given = GIVEN if make is byte_level else {role: GIVEN[role] for role in ROLES if role != "unk"}
    tokenizer = make(roles=given)
    assert tokenizer.roles == {"unk": "<unk>"} | given
    assert tokenizer.bos_token_id == tokenizer.special_tokens[given["bos"]]
    assert tokenizer.eos_token_id == tokenizer.special_tokens[given["eos"]]
    tokenizer.save(tmp_path / "a.fbpe")
    tokenizer.export(tmp_path / "folder", format="huggingface")
    added = tokenizer.with_special_tokens(["<x>"])
    for other in (
        fastbpe.load(tmp_path / "a.fbpe"),
        fastbpe.load(tmp_path / "folder"),
        pickle.loads(pickle.dumps(tokenizer)),
        added,
    ):
        assert other.roles == tokenizer.roles
    config = json.loads((tmp_path / "folder" / "tokenizer_config.json").read_bytes())
    assert {f"{role}_token": name for role, name in given.items()}.items() <= config.items()


def test_control_symbols_given_as_text_may_have_roles() -> None:
    tokenizer = fastbpe.train(
        ["ab ab abc"],
        mode="codepoint",
        vocab_size=12,
        control_symbols='"<a,b>",<sep>',
        roles={"cls": "<a,b>", "sep": "<sep>"},
        progress=False,
    )
    assert (tokenizer.roles["cls"], tokenizer.roles["sep"]) == ("<a,b>", "<sep>")
    with pytest.raises(SpecialTokenError, match="'b', is not a special token of this tokenizer; add it with"):
        fastbpe.train(["ab"], mode="codepoint", vocab_size=12, control_symbols="abc", roles={"cls": "b"})


@pytest.mark.parametrize("mode", ["codepoint", "unigram"])
def test_symbols_of_counted_words_may_have_roles(mode: Literal["codepoint", "unigram"]) -> None:
    counts = fastbpe.count_pieces(
        ["ab ab abc"], mode=mode, control_symbols=["<cls>"], unk_piece="[UNK]", progress=False
    )
    roles = {"cls": "<cls>", "unk": "[UNK]"}
    tokenizer = fastbpe.train(counts, vocab_size=11, hard_vocab_limit=False, roles=roles, progress=False)
    assert roles.items() <= tokenizer.roles.items()


@pytest.mark.parametrize("options", [{}, {"pad_id": 3, "user_defined_symbols": ["<pad>"]}])
def test_piece_that_is_no_special_token_gets_no_role_before_learning(options: dict[str, Any]) -> None:
    done = []
    with pytest.raises(SpecialTokenError, match="the token of pad, '<pad>', is not a special token"):
        fastbpe.train(
            ["ab ab abc"],
            mode="codepoint",
            vocab_size=12,
            roles={"pad": "<pad>"},
            progress=lambda *numbers: done.append(numbers),
            **options,
        )
    assert not done


def test_special_tokens_from_an_iterator_may_have_roles() -> None:
    tokenizer = fastbpe.train(
        ["ab"], vocab_size=257, special_tokens=iter(["<s>"]), roles={"bos": "<s>"}, progress=False
    )
    assert tokenizer.roles == {"bos": "<s>"}


def test_roles_reach_gguf_and_model(tmp_path: Path) -> None:
    byte_level(roles=GIVEN).export(tmp_path / "a.gguf")
    assert fastbpe.load(tmp_path / "a.gguf").roles == GIVEN
    code_points(roles={"bos": "[R3]", "eos": "[R4]"}).export(tmp_path / "a.model")
    loaded = fastbpe.load(tmp_path / "a.model")
    assert loaded.roles == {"bos": "[R3]", "eos": "[R4]", "unk": "<unk>"}
    assert loaded.encode_with_template("ab")[0] == loaded.token_to_id("[R3]")


@pytest.mark.parametrize("make", [byte_level, code_points])
def test_roles_are_given_to_old_and_new_tokens(make: Any, tmp_path: Path) -> None:
    tokenizer = make()
    more = tokenizer.with_special_tokens(["<go>"], roles={"bos": "<go>", "mask": "[R0]"})
    assert (more.roles["bos"], more.roles["mask"]) == ("<go>", "[R0]")
    assert "mask" not in tokenizer.roles
    more.export(tmp_path / "a.fbpe", roles={"mask": "[R1]"})
    assert fastbpe.load(tmp_path / "a.fbpe").roles == {**more.roles, "mask": "[R1]"}


def test_roles_are_guessed_by_one_list() -> None:
    names = ["<|bos|>", "<|eos|>", "<|pad|>", "<|unk|>", "[SEP]", "[CLS]", "[MASK]"]
    tokenizer = fastbpe.train(["ab"], vocab_size=263, special_tokens=names, progress=False)
    expected = {"bos": "<|bos|>", "eos": "<|eos|>", "pad": "<|pad|>", "unk": "<|unk|>"}
    assert tokenizer.roles == {**expected, "sep": "[SEP]", "cls": "[CLS]", "mask": "[MASK]"}
    assert Tokenizer.from_merges([], pattern=None).roles == {}


@pytest.mark.parametrize(
    ("roles", "error", "message"),
    [
        (
            {"start": "[R0]"},
            SpecialTokenError,
            "'start' is not a role; the roles are bos, eos, unk, sep, pad, cls, mask",
        ),
        (
            {"bos": "<go>"},
            SpecialTokenError,
            "roles: the token of bos, '<go>', is not a special token of this tokenizer; add it with ",
        ),
        ({"bos": 256}, TypeError, "the token of bos must be a str, not int"),
        (["bos"], TypeError, "roles must be a dict of roles and tokens, such as {'eos': '</s>'}, not list"),
    ],
)
def test_wrong_roles_are_named(roles: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    for make in (byte_level, code_points):
        for call in (
            lambda make=make: make(roles=roles),
            lambda make=make: make().with_special_tokens([], roles=roles),
            lambda make=make: make().export(tmp_path / "a.fbpe", roles=roles),
        ):
            with pytest.raises(error) as raised:
                call()
            assert message in str(raised.value)
    assert not (tmp_path / "a.fbpe").exists()


def test_role_of_a_missing_token_names_the_argument_that_adds_it(tmp_path: Path) -> None:
    roles = {"bos": "<go>"}
    for call, way_out in (
        (lambda: byte_level(roles=roles), "special_tokens="),
        (lambda: code_points(roles=roles), "control_symbols="),
        (lambda: byte_level().with_special_tokens([], roles=roles), "with_special_tokens"),
        (lambda: code_points().export(tmp_path / "a.fbpe", roles=roles), "with_special_tokens"),
    ):
        with pytest.raises(SpecialTokenError, match=f"; add it with {way_out}$"):
            call()


@pytest.mark.parametrize(("name", "what"), [("a.json", "a tokenizer.json alone"), ("a.tiktoken", "tiktoken")])
def test_format_without_a_place_for_roles_refuses_them(name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{name}: {what} cannot store roles=; leave it out, or write a folder"):
        byte_level().export(tmp_path / name, roles=GIVEN)
    assert not [*tmp_path.iterdir()]


def test_sequences_have_no_roles() -> None:
    with pytest.raises(TrainingError, match='mode="ids" learns from integers; leave roles= out'):
        fastbpe.train([[1, 2]], mode="ids", base_size=3, vocab_size=4, roles={"bos": "<s>"})  # type: ignore[call-overload]


def test_folder_with_all_roles_is_saved(tmp_path: Path) -> None:
    byte_level().export(tmp_path / "folder", format="huggingface")
    config = {f"{role}_token": name for role, name in GIVEN.items()}
    (tmp_path / "folder" / "tokenizer_config.json").write_text(json.dumps(config))
    fastbpe.load(tmp_path / "folder").save(tmp_path / "a.fbpe")
    assert fastbpe.load(tmp_path / "a.fbpe").roles == GIVEN


def test_commands_take_and_show_roles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fastbpe.cli.command_line import main

    (tmp_path / "a.txt").write_text("ab ab abc")
    out, folder = tmp_path / "a.fbpe", tmp_path / "folder"
    flags = ["--vocab-size", "260", "--special", "<go>", "--special", "<stop>", "--quiet"]
    main(
        ["train", str(tmp_path / "a.txt"), "-o", str(out), *flags, "--roles", "bos=<go>", "--roles", "eos=<stop>"]
    )
    assert fastbpe.load(out).roles == {"bos": "<go>", "eos": "<stop>"}
    main(["convert", str(out), str(folder), "--to", "huggingface", "--roles", "pad=<go>"])
    assert fastbpe.load(folder).roles == {"bos": "<go>", "eos": "<stop>", "pad": "<go>"}
    main(["info", str(folder)])
    assert "pad '<go>'" in capsys.readouterr().out
