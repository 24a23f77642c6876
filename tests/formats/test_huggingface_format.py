"""tokenizer.json files: reading, writing, and every kind of damage."""

import contextlib
import copy
import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning, SpecialTokenError, Tokenizer
from fastbpe._core.merge.table_builder import build_tables
from fastbpe.errors import FastbpeError
from fastbpe.formats import byte_level, detect
from fastbpe.formats.huggingface import _vocab_json
from fastbpe.model import Model, pack_merges
from helpers.bounds import within
from helpers.shared_data import BYTES, PUBLISHED, corpus, published
from helpers.tokenizer_json import (
    BYTE_LEVEL,
    GPT2,
    SHOWN,
    added,
    document,
    dumped,
    file_of,
    random_document,
    random_text,
    sequence,
    small,
    split,
)

tokenizers = pytest.importorskip("tokenizers")


def load(made: dict[str, Any]) -> Tokenizer:
    return fastbpe.load(dumped(made))


# Reading.


def test_token_that_is_listed_as_text_and_in_stand_ins_is_written_so_again(tmp_path: Path) -> None:
    made = small()
    n = len(made["model"]["vocab"])
    for token in ("™", "âĦ", "âĦ¢"):  # the sign as text, and as the stand-ins of its bytes
        made["model"]["vocab"][token] = len(made["model"]["vocab"])
    made["model"]["merges"] += ["â Ħ", "âĦ ¢"]
    tokenizer = load(made)
    assert tokenizer.encode("™") == [n + 2]
    tokenizer.export(tmp_path / "x.json")
    written = json.loads((tmp_path / "x.json").read_bytes())["model"]
    assert (written["vocab"]["™"], written["vocab"]["âĦ¢"]) == (n, n + 2)
    again = fastbpe.load(tmp_path / "x.json")
    assert again.encode("™") == [n + 2]
    assert again.decode([n, n + 2]) == tokenizer.decode([n, n + 2]) == "™™"


def test_small_file_loads() -> None:
    tokenizer = load(small([added(262, "<s>", special=True)]))
    assert tokenizer.encode("abc 12<s>", allowed_special="all") == [257, 32, 261, 262]
    assert tokenizer.decode([257, 32, 261, 262]) == "abc 12<s>"
    assert tokenizer.special_tokens == {"<s>": 262}
    assert tokenizer.pattern == fastbpe.PATTERNS["gpt2"]
    assert tokenizer.added_tokens == []
    assert tokenizer.vocab_size == tokenizer.n_vocab == 263
    assert fastbpe.steps(tokenizer) == {"normalizers": [], "pre_tokenizers": []}
    assert tokenizer.template == ([], [])


def test_merges_as_pairs_equal_merges_as_strings() -> None:
    made = small()
    as_pairs = copy.deepcopy(made)
    as_pairs["model"]["merges"] = [merge.split(" ") for merge in made["model"]["merges"]]
    assert load(made) == load(as_pairs)


@pytest.mark.parametrize("first_is_pair", [True, False])
def test_merges_partly_as_pairs_are_refused(first_is_pair: bool) -> None:
    """As in tokenizers. The readers differed: a file that the fast one leaves to the other was refused."""
    made = small()
    merges: list[Any] = made["model"]["merges"]
    merges[0 if first_is_pair else -1] = merges[0 if first_is_pair else -1].split(" ")
    with pytest.raises(FormatError, match="must be two tokens, not"):
        load(made)
    with pytest.raises(FormatError, match="two tokens"):
        fastbpe.tokenizers.Tokenizer.from_str(dumped(made).decode())
    with pytest.raises(Exception, match="MergeType"):
        tokenizers.Tokenizer.from_str(dumped(made).decode())


def test_last_position_of_a_repeated_merge_counts() -> None:
    made = small()
    made["model"]["merges"] = ["a b", "ab c", "Ġ a", "b c", "Ġa b", "1 2", "a b"]
    tokenizer = load(made)
    assert tokenizer.encode("abc") == peer_ids(made, "abc") == [97, 259]


def peer_ids(made: dict[str, Any], text: str) -> list[int]:
    peer = tokenizers.Tokenizer.from_str(dumped(made).decode())
    return list(peer.encode(text, add_special_tokens=False).ids)


def test_added_tokens_are_found_in_any_trusted_text() -> None:
    tokenizer = load(small([added(262, "<s>", special=True), added(263, "<n>")]))
    assert tokenizer.encode("a<n>") == tokenizer.encode_ordinary("a<n>") == [97, 263]
    assert tokenizer.encode_ordinary("<s>") == [60, 115, 62]
    assert tokenizer.count("a<n><n>") == 3
    parts = [("<n>", False), ("<n><s>", True)]
    assert tokenizer.encode_parts(parts) == [60, 110, 62, 263, 262], "neither in text of somebody else's"
    assert tokenizer.encode_batch(["<n>", "<s>"], allowed_special={"<s>"}) == [[263], [262]]
    assert 263 not in tokenizer.special_tokens.values()
    assert tokenizer.token_to_id("<n>") == 263
    assert tokenizer.id_to_token(263) == b"<n>"
    with pytest.raises(ValueError, match="disallowed special token"):
        tokenizer.encode("<s>")


def test_added_token_within_a_special_token_is_not_found() -> None:
    """tokenizers does the same with encode_special_tokens."""
    tokenizer = load(small([added(262, "<s>", special=True), added(263, "s>")]))
    assert tokenizer.encode_ordinary("<s> s>") == [60, 115, 62, 32, 263]


def test_lstrip_and_rstrip_tokens_include_white_space() -> None:
    tokenizer = load(small([added(262, "<m>", special=True, lstrip=True), added(263, "<n>", rstrip=True)]))
    assert tokenizer.encode("a \n<m> b<n>\t x", allowed_special="all") == [97, 262, 32, 98, 263, 120]


def test_single_word_token_matches_whole_words_only() -> None:
    tokenizer = load(small([added(262, "zz", single_word=True)]))
    assert tokenizer.encode("zz") == [262]
    assert tokenizer.encode("zzz_zz é(zz)") == [122, 122, 122, 95, 122, 122, 32, 195, 169, 40, 262, 41]


def test_bytes_without_tokens_are_dropped() -> None:
    made = small()
    del made["model"]["vocab"]["c"]
    made["model"]["vocab"]["z"] = 99
    del made["model"]["vocab"][SHOWN[0]]
    made["model"]["vocab"] = {
        **{token: i for token, i in made["model"]["vocab"].items() if i < 256 and "c" not in token},
        SHOWN[1]: 0,
        "ab": 1,
    }
    made["model"]["merges"] = ["a b"]
    vocab = {token: i for i, token in enumerate(made["model"]["vocab"])}
    made["model"]["vocab"] = vocab
    tokenizer = load(made)
    for text in ("acb", "c", "cc", "a\0b", "", "abc ab", "c" * 100 + "ab"):
        assert tokenizer.encode(text) == peer_ids(made, text), text
        assert tokenizer.count(text) == len(tokenizer.encode(text))


def test_empty_token_is_accepted() -> None:
    """Whisper's vocabulary has one."""
    made = small()
    made["model"]["vocab"][""] = 262
    tokenizer = load(made)
    assert tokenizer.encode("ab") == [256]
    assert peer_ids(made, "ab") == [256]


def test_pre_tokenizers_that_regexes_express_become_a_pattern() -> None:
    made = small(pre_tokenizer=sequence(split(r"\d"), {**split(""), "pattern": {"String": "a."}}, BYTE_LEVEL))
    tokenizer = load(made)
    assert tokenizer.pattern == (r"\d", r"\x{61}\x{2e}")
    assert fastbpe.steps(tokenizer)["pre_tokenizers"] == []
    assert "pre-tokenizers" in repr(load(small(pre_tokenizer=sequence({"type": "Whitespace"}, BYTE_LEVEL))))


def test_tokenizers_are_equal_only_with_equal_extras() -> None:
    tokenizer = load(small([added(262, "<s>", special=True)]))
    same = Tokenizer.from_ranks(BYTES, pattern="gpt2")
    assert tokenizer != same
    assert tokenizer != load(small([added(262, "<s>", special=True, lstrip=True)]))
    assert tokenizer != load(small([added(262, "<s>", special=True)], normalizer={"type": "NFC"}))


def test_given_special_tokens_replace_those_of_the_file() -> None:
    data = dumped(small([added(262, "<s>", special=True, lstrip=True), added(263, "<n>")]))
    tokenizer = fastbpe.load(data, special_tokens={"<x>": 300})
    assert tokenizer.encode("a <s><x><n>", allowed_special="all") == [97, 32, 60, 115, 62, 300, 263]


@pytest.mark.parametrize(
    ("given", "single", "pair"),
    [
        ({}, [97], [97, 98]),
        ({"</s>": 400}, [97, 400], [97, 400, 400, 98, 400]),
        ({"<a>": 262, "<b>": 263}, [262, 97, 263], [262, 97, 263, 263, 98, 263]),
        ({"<s>": 263, "<b>": 262}, [263, 97, 263], [263, 97, 263, 263, 98, 263]),
    ],
)
def test_given_special_tokens_change_the_template(
    given: dict[str, int], single: list[int], pair: list[int], tmp_path: Path
) -> None:
    processor = {"type": "RobertaProcessing", "cls": ["<s>", 262], "sep": ["</s>", 263]}
    processor |= {"trim_offsets": True, "add_prefix_space": False}
    marks = [added(262, "<s>", special=True, lstrip=True), added(263, "</s>", special=True)]
    data = dumped(small(marks, post_processor=processor))
    fastbpe.load(data).save(tmp_path / "a.fbpe")
    made = fastbpe.load(data, special_tokens=given)
    made.export(tmp_path / "a.json")
    for tokenizer in (
        made,
        fastbpe.load(tmp_path / "a.fbpe", special_tokens=given),
        fastbpe.load(tmp_path / "a.json"),
    ):
        assert tokenizer.encode_with_template("a") == single
        assert tokenizer.encode_with_template("a", "b") == pair
        assert tokenizer.encode_with_offsets("a b")[1] == [(0, 1), (2, 2), (2, 3)]  # still trimmed
        assert tokenizer.special_tokens == given
        assert tokenizer.roles.keys() <= {"bos", "eos"}


def test_ids_around_texts_need_no_token() -> None:
    processor = {"type": "BertProcessing", "cls": ["<s>", 300], "sep": ["</s>", 262]}
    tokenizer = load(small([added(262, "</s>", special=True)], post_processor=processor))
    assert tokenizer.template == ([300], [262])
    assert tokenizer.roles == {"eos": "</s>"}
    with pytest.raises(ValueError, match="uint8 is too small for id 300 at position 0"):
        load(small(post_processor=processor)).encode_to_numpy("a", with_template=True, dtype="uint8")


@pytest.mark.parametrize("token_id", [[262], "a", -1, 1 << 70])
def test_bad_id_of_a_token_around_texts_raises_special_token_error(token_id: Any) -> None:
    processor = {"type": "BertProcessing", "cls": ["<s>", 262], "sep": ["<s>", 262]}
    data = dumped(small([added(262, "<s>", special=True)], post_processor=processor))
    with pytest.raises(SpecialTokenError):
        fastbpe.load(data, special_tokens={"<s>": token_id})


def test_pattern_argument_is_refused() -> None:
    with pytest.raises(FormatError, match="leave pattern= out"):
        fastbpe.load(dumped(small()), pattern="gpt2")


# Saving, pickling, writing.


def random_tokenizers(n: int) -> list[tuple[Tokenizer, random.Random]]:
    out = []
    for seed in range(n):
        rng = random.Random(f"saved {seed}")
        with contextlib.suppress(FormatError):  # a token may become empty when normalized, which is refused
            out.append((load(random_document(rng)), rng))
    assert len(out) > n // 2
    return out


@pytest.mark.parametrize("pre_tokenizer", ["ByteLevel", "Whitespace"])
def test_dropout_is_warned_of_not_applied_and_written_again(pre_tokenizer: str, tmp_path: Path) -> None:
    made = model(dropout=0.25)
    if pre_tokenizer != "ByteLevel":
        made["pre_tokenizer"], made["decoder"] = {"type": pre_tokenizer}, None
    data = json.dumps(made).encode()
    with pytest.warns(
        FormatWarning, match=r"<bytes>: its dropout, 0\.25, is not applied: .* pass dropout= to Tokenizer\.encode$"
    ):
        tokenizer = fastbpe.load(data)
    made["model"]["dropout"] = None
    text = "ab abc ab"
    assert tokenizer.encode(text) == fastbpe.load(json.dumps(made).encode()).encode(text)
    assert max(map(len, (tokenizer.encode(text, dropout=0.9) for _ in range(20)))) > len(tokenizer.encode(text))
    tokenizer.save(tmp_path / "a.fbpe")
    with pytest.warns(FormatWarning, match="dropout, 0.25, is not applied"):  # export reads the file again
        fastbpe.load(tmp_path / "a.fbpe").export(tmp_path / "a.json", format="huggingface")
    assert json.loads((tmp_path / "a.json").read_bytes())["model"]["dropout"] == 0.25


@pytest.mark.parametrize(
    ("keys", "said", "way_out"),
    [
        (["truncation"], "truncation is", r"; use Tokenizer\.truncate\(text, n\)$"),
        (["padding"], "padding is", "; pad batches yourself$"),
        (["truncation", "padding"], "truncation and padding are", r"\(text, n\), and pad batches yourself$"),
    ],
)
def test_truncation_and_padding_settings_are_warned_of(keys: list[str], said: str, way_out: str) -> None:
    settings: dict[str, Any] = {
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 5}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "!"},
    }  # fmt: skip
    chosen = {key: settings[key] for key in keys}
    with pytest.warns(
        FormatWarning, match=f"^<bytes>: its {said} not applied: encode returns all ids of a text.*{way_out}"
    ) as caught:
        tokenizer = fastbpe.load(dumped(small(**chosen)))
    assert len(caught) == 1
    assert tokenizer.encode("x y z") == load(small()).encode("x y z")


@pytest.mark.daily
def test_native_files_and_pickles_keep_everything(tmp_path: Path) -> None:
    for tokenizer, rng in random_tokenizers(30):
        tokenizer.save(tmp_path / "a.fbpe")
        copies = [fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(tokenizer))]
        texts = [random_text(rng) for _ in range(10)]
        for other in copies:
            assert other == tokenizer
            assert other.template == tokenizer.template
            for text in texts:
                assert other.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")


@pytest.mark.daily
def test_writing_again_gives_the_same_file(tmp_path: Path) -> None:
    for tokenizer, _ in random_tokenizers(30):
        tokenizer.export(tmp_path / "a.json", format="huggingface")
        again = fastbpe.load(tmp_path / "a.json")
        assert again == tokenizer
        again.export(tmp_path / "b.json", format="huggingface")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def assert_written(tokenizer: Tokenizer, path: Path, lines: list[str]) -> Tokenizer:
    """Write a file, compare the ids of tokenizers, and return the tokenizer read back."""
    tokenizer.export(path, format="huggingface")
    peer = tokenizers.Tokenizer.from_file(str(path))
    lines = lines + [f"a{name}  b" for name in tokenizer.special_tokens]
    expected = [encoding.ids for encoding in peer.encode_batch(lines, add_special_tokens=False)]
    assert tokenizer.encode_batch(lines, allowed_special="all") == expected
    assert peer.decode_batch(expected, skip_special_tokens=False) == tokenizer.decode_batch(expected)
    return fastbpe.load(path)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name in PUBLISHED if name not in ("o200k_base", "llama4")])
def test_ranks_survive_conversion_to_merges(name: str, tmp_path: Path) -> None:
    tokenizer = published(name)
    lines = corpus("multilingual.txt", 40_000).split("\n") + corpus("emoji_mixed.txt", 20_000).split("\n")
    again = assert_written(tokenizer, tmp_path / "a.json", lines)
    tokenizer.export(tmp_path / "a.tiktoken", format="tiktoken")
    again.export(tmp_path / "b.tiktoken", format="tiktoken")
    assert (tmp_path / "a.tiktoken").read_bytes() == (tmp_path / "b.tiktoken").read_bytes()


@pytest.mark.filterwarnings("ignore::fastbpe.errors.TrainingWarning")
@pytest.mark.parametrize(
    "pattern", ["gpt2", "cl100k", "o200k", "qwen2", "tekken", "deepseek_v3", "none", r"\s?a+$|."]
)
def test_trained_tokenizer_is_written_with_equal_ids(pattern: str, tmp_path: Path) -> None:
    text = ["The cat sat; the hat was flat. 1234's ÉTÉ été\n\n  x " * 3, "aaa\nbbb aaaa "]
    tokenizer = fastbpe.train(text, vocab_size=300, pattern=pattern, special_tokens=["<|end|>"], progress=False)
    again = assert_written(tokenizer, tmp_path / "a.json", [*text, "ab\naaa", "CAN'T 12345\r\n", "漢字 ab12"])
    assert again.special_tokens == tokenizer.special_tokens


def test_merge_list_is_written_in_its_order(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges([(98, 99), (97, 98), (97, 256)], pattern="gpt2")
    again = assert_written(tokenizer, tmp_path / "a.json", ["abc abab bc", "cab"])
    assert again.merges == tokenizer.merges


def test_special_tokens_between_ordinary_ids_are_kept(tmp_path: Path) -> None:
    ranks = BYTES | {b"ab": 257, b"abc": 260}
    special = {"<a>": 256, "<b>": 258, "<c>": 259, "<d>": 280}
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None, special_tokens=special)
    again = assert_written(tokenizer, tmp_path / "a.json", ["abcab <a><b> ab"])
    assert again.special_tokens == special


UNWRITABLE: dict[str, tuple[Callable[[], Tokenizer], str]] = {
    "a gap": (lambda: Tokenizer.from_ranks(BYTES | {b"ab": 300}, pattern=None), "no token has the id 256"),
    "a pattern": (lambda: Tokenizer.from_ranks(BYTES, pattern=r"\w+|\s+"), "how this tokenizer splits text"),
    "a name that is another token's": (
        lambda: Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={SHOWN[200]: 300}),
        "and the token with the id 200 would have the same text",
    ),
}


@pytest.mark.parametrize("token_id", [270, 97])
def test_added_token_behind_a_gap_gets_the_next_id_with_a_warning(token_id: int) -> None:
    made = changed(lambda made: made["added_tokens"].append(added(token_id, "<t>")))
    with pytest.warns(
        FormatWarning, match=rf"added_tokens\[1\]: '<t>' has the id {token_id} in the file, but gets 263"
    ):
        tokenizer = fastbpe.load(json.dumps(made).encode())
    assert tokenizer.encode("<t>", allowed_special="all") == [263]


@pytest.mark.parametrize("case", UNWRITABLE)
def test_export_refuses_tokenizers_that_the_format_cannot_express(case: str, tmp_path: Path) -> None:
    make, message = UNWRITABLE[case]
    with pytest.raises(FormatError, match=message):
        make().export(tmp_path / "a.json", format="huggingface")
    assert not list(tmp_path.iterdir())


def test_tiktoken_export_refuses_extras(tmp_path: Path) -> None:
    for made in (
        small([added(262, "<n>")]),
        small(normalizer={"type": "NFC"}),
        small(pre_tokenizer=sequence({"type": "Whitespace"}, BYTE_LEVEL)),
        small(pre_tokenizer={**GPT2, "add_prefix_space": True}),
    ):
        with pytest.raises(FormatError, match="cannot store the"):
            load(made).export(tmp_path / "a.tiktoken", format="tiktoken")
    backwards = small()
    backwards["model"]["merges"] = backwards["model"]["merges"][::-1]
    with pytest.raises(FormatError, match="list of pairs"):
        load(backwards).export(tmp_path / "a.tiktoken", format="tiktoken")


# Damage.


def with_space_first(vocab: dict[str, int]) -> dict[str, int]:
    """Return the vocabulary with a token for a space, which tokenizers never uses, before all others."""
    return {token: i for i, token in enumerate([" ", *vocab])}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    made = small([added(262, "<s>", special=True)])
    change(made)
    return made


def model(**parts: Any) -> dict[str, Any]:
    return changed(lambda made: made["model"].update(parts))


def vocab(**tokens: Any) -> dict[str, Any]:
    return changed(lambda made: made["model"]["vocab"].update(tokens))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a type nobody knows": (model(type="Bigram"), r"model\.type: 'Bigram' is unknown; fastbpe knows BPE"),
    "unigram": (model(type="Unigram"), r"model\.vocab: must be a list"),
    "wordpiece": (model(type="WordPiece"), "model: it has no 'unk_token'"),
    "no type, no merges": (
        changed(lambda made: (made["model"].pop("type"), made["model"].pop("merges"))),
        "model: it has no 'unk_token'",
    ),
    "dropout": (model(dropout=1.1), r"model\.dropout: must be a number from 0 to 1, or null, not 1\.1"),
    "dropout as a text": (model(dropout="0.1"), r"model\.dropout: must be a number from 0 to 1"),
    "prefix": (
        model(continuing_subword_prefix="##"),
        r"model\.merges\[0\]: from 'b', the 2 bytes of continuing_subword_prefix cannot be removed",
    ),
    "a merge of one token": (model(merges=["a"]), r"model\.merges\[0\]: must be two tokens, not 'a'"),
    "a merge of three": (model(merges=["a b", "a b c"]), r"model\.merges\[1\]: must be two tokens"),
    "merges of both kinds": (model(merges=["a b", ["a", "b"]]), r"model\.merges\[1\]: must be two tokens"),
    "a merge of numbers": (model(merges=[[1, 2]]), r"model\.merges\[0\]"),
    "a missing left token": (model(merges=["q! b"]), r"model\.merges\[0\]: 'q!' and 'b': 'q!' is not a token"),
    "a missing merged token": (
        model(merges=["a b", "x y"]),
        r"model\.merges\[1\]: 'x' and 'y': 'xy' is not a token",
    ),
    "merges that are not a list": (model(merges={"a": "b"}), r"model\.merges: must be a list"),
    "no vocabulary": (changed(lambda made: made["model"].pop("vocab")), "it has no 'vocab'"),
    "a vocabulary that is not an object": (model(vocab=["a"]), r"model\.vocab: must be an object"),
    "an id twice": (vocab(zz=97), r"model\.vocab: tokens 'a' and 'zz' have the same id 97"),
    "a huge id": (vocab(zz=2**40), r"model\.vocab: token 'zz' has the id"),
    "a negative id": (vocab(zz=-1), r"model\.vocab: token 'zz' has the id -1"),
    "an id of text": (vocab(zz="1"), r"model\.vocab: token 'zz' has the id '1'"),
    "an id that is true": (vocab(zz=True), r"model\.vocab: token 'zz' has the id True"),
    "a fraction": (vocab(zz=262.0), r"model\.vocab: token 'zz' has the id 262\.0"),
    "an added token of a negative id": (
        changed(lambda made: made["added_tokens"].append(added(-1, "<t>"))),
        r"added_tokens\[1\]\.id: must be an id",
    ),
    "an added token without a flag": (
        changed(lambda made: made["added_tokens"][0].pop("lstrip")),
        r"added_tokens\[0\]: it has no 'lstrip'",
    ),
    "added tokens that are not a list": (
        changed(lambda made: made.update(added_tokens="x")),
        "added_tokens: must be a list",
    ),
    "a normalizer": (
        changed(lambda made: made.update(normalizer={"type": "Newer", "precompiled_charsmap": ""})),
        "normalizer: the normalizer 'Newer' is not supported",
    ),
    "a normalizer within": (
        changed(
            lambda made: made.update(
                normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Newer"}]}
            )
        ),
        r"normalizer\.normalizers\[1\]: the normalizer 'Newer'",
    ),
    "a pre-tokenizer": (
        changed(lambda made: made.update(pre_tokenizer=sequence({"type": "Newer"}, BYTE_LEVEL))),
        r"pre_tokenizer\.pretokenizers\[0\]: the pre-tokenizer 'Newer' is not supported",
    ),
    "a length of nothing": (
        changed(
            lambda made: made.update(pre_tokenizer=sequence({"type": "FixedLength", "length": 0}, BYTE_LEVEL))
        ),
        r"pre_tokenizer\.pretokenizers\[0\]\.length: must be from 1 to 2\*\*64 - 1 characters, not 0",
    ),
    "a behavior": (
        changed(lambda made: made.update(pre_tokenizer=sequence(split("a", behavior="Merged"), BYTE_LEVEL))),
        r"pre_tokenizer\.pretokenizers\[0\]\.behavior: 'Merged'",
    ),
    "a pattern of neither kind": (
        changed(
            lambda made: made.update(pre_tokenizer=sequence({**split("a"), "pattern": {"Glob": "*"}}, BYTE_LEVEL))
        ),
        r"pre_tokenizer\.pretokenizers\[0\]\.pattern: must be",
    ),
    "an invalid regex": (
        changed(lambda made: made.update(pre_tokenizer=sequence(split("(a"), BYTE_LEVEL))),
        r"\(a",
    ),
    "a post-processor": (
        changed(lambda made: made.update(post_processor={"type": "Other"})),
        "post_processor: the post-processor 'Other' is unknown; fastbpe knows RobertaProcessing",
    ),
    "a template without the text": (
        changed(
            lambda made: made.update(
                post_processor={"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}
            )
        ),
        r"post_processor\.single: it must contain the text once",
    ),
    "a template with a token it does not know": (
        changed(
            lambda made: made.update(
                post_processor={
                    "type": "TemplateProcessing",
                    "single": [
                        {"SpecialToken": {"id": "<q>", "type_id": 0}},
                        {"Sequence": {"id": "A", "type_id": 0}},
                    ],
                    "pair": [],
                    "special_tokens": {},
                }
            )
        ),
        r"post_processor\.single\[0\]: '<q>' is not among",
    ),
    "a decoder": (
        changed(lambda made: made.update(decoder={"type": "WordPiece"})),
        r"decoder\.prefix: in WordPiece it must be text, not None",
    ),
    "a newer file": (changed(lambda made: made.update(version="2.0")), "version '2.0' is not known"),
}


#: Files that are not quite byte-level, and that tokenizers takes.
NEARLY = {
    "suffix": model(end_of_word_suffix="</w>"),
    "a gap": changed(lambda made: (made["model"]["vocab"].update(zz=300), made.update(added_tokens=[]))),
    "a space before the token of its byte": changed(
        lambda made: (
            made["model"].update(vocab=with_space_first(made["model"]["vocab"])),
            made.update(added_tokens=[]),
        )
    ),
    "a vocabulary without tokens": changed(
        lambda made: (made["model"].update(vocab={}, merges=[]), made.update(added_tokens=[]))
    ),
    "two of ByteLevel": changed(lambda made: made.update(pre_tokenizer=sequence(BYTE_LEVEL, BYTE_LEVEL))),
    "two of ByteLevel, the second without its regex": changed(
        lambda made: made.update(pre_tokenizer=sequence(BYTE_LEVEL, {**BYTE_LEVEL, "use_regex": False}))
    ),
    "a space before every piece": changed(
        lambda made: made.update(
            pre_tokenizer=sequence({"type": "Whitespace"}, {**BYTE_LEVEL, "add_prefix_space": True})
        )
    ),
    "an unknown token where bytes are missing": changed(
        lambda made: (
            made["model"].update(unk_token="a"),
            made["model"].update(
                vocab={token: i - 1 for token, i in made["model"]["vocab"].items() if i and i < 256}, merges=[]
            ),
            made.update(added_tokens=[]),
        )
    ),
}


@pytest.mark.parametrize("case", NEARLY)
def test_file_that_is_not_quite_byte_level_gives_what_tokenizers_gives(case: str) -> None:
    data = json.dumps(NEARLY[case]).encode()
    original, tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_buffer(data), fastbpe.load(data)
    assert tokenizer.mode == "character"
    for text in ("abc ab", " a  b\n", "aé日 Ġ", "", "<|x|>a", "\x00\x7f"):
        wanted = original.encode(text, add_special_tokens=False)
        assert tokenizer.encode_with_offsets(text, allowed_special="all") == (wanted.ids, wanted.offsets), text
        assert tokenizer.decode(wanted.ids) == original.decode(wanted.ids, skip_special_tokens=False)


@pytest.mark.filterwarnings("ignore:.*like tokenizers, fastbpe gives:fastbpe.FormatWarning")
@pytest.mark.parametrize("case", BAD)
def test_invalid_part_raises_format_error(case: str) -> None:
    made, message = BAD[case]
    with pytest.raises(FormatError, match=message) as caught:
        load(made)
    assert str(caught.value).startswith("<bytes>: ")


@pytest.mark.parametrize(
    "data",
    [
        b'{"model": {',
        b'{"model": {"type": "BPE"}} x',
        b'\xff{"model": {}}',
        b'{"model": {"vocab": {"\xff": 1}}}',
        b'{"model": {"vocab": {"\\ud800": 1}, "merges": []}}',
        b'{"model": []}',
        b'[{"model": {}}]',
        b'{"model": {"vocab": {}, "merges": [], "type": "BPE"}, "pre_tokenizer": 7}',
    ],
)
def test_invalid_json_raises_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        fastbpe.load(data)


def test_truncated_file_raises_format_error() -> None:
    data = dumped(small([added(262, "<s>", special=True)]))
    for size in [*range(400), *range(400, len(data), 37)]:
        with pytest.raises(FormatError):
            fastbpe.load(data[:size])


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_any_replaced_value_loads_or_raises_format_error() -> None:
    """The result is a FormatError or a tokenizer for any type of a part."""
    made = small(
        [added(262, "<s>", special=True)], normalizer={"type": "Strip", "strip_left": True, "strip_right": True}
    )
    made["pre_tokenizer"] = sequence(split("a"), {"type": "Punctuation", "behavior": "Isolated"}, BYTE_LEVEL)
    made["post_processor"] = {"type": "RobertaProcessing", "sep": ["<s>", 262], "cls": ["<s>", 262]}
    n_refused = 0
    for path in paths(made):
        for value in (None, 7, -1, 1.5, True, "x", "", [], {}, [[]], {"type": 1}, ["a"], "\ud800"):
            damaged = copy.deepcopy(made)
            put(damaged, path, value)
            try:
                fastbpe.load(json.dumps(damaged).encode())
            except FormatError:
                n_refused += 1
    assert n_refused > 300


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all parts of a value; of the vocabulary and the merges only some."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    out = [here] if here else []
    for key in [*keys][:3] if here[-1:] in (("vocab",), ("merges",)) else keys:
        out += paths(value[key], (*here, key))
    return out


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


@pytest.mark.daily
@pytest.mark.parametrize("kind", ["nested", "five million tokens", "five million merges", "one long token"])
def test_hostile_files_are_refused_at_once(kind: str) -> None:
    if kind == "nested":
        data = b'{"model": {"vocab": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    elif kind == "five million tokens":
        data = (
            b'{"model": {"type": "BPE", "vocab": {'
            + b",".join(b'"%x":%d' % (i, i) for i in range(5_000_000))
            + b"}}}"
        )
    elif kind == "five million merges":
        data = b'{"model": {"type": "BPE", "vocab": {}, "merges": [' + b",".join([b'"a b"'] * 5_000_000) + b"]}}"
    else:
        made = small()
        made["model"]["vocab"]["a" * 10_000_000] = 262
        data = dumped(made)
        assert fastbpe.load(data).encode("aab") == [97, 256]
        return
    with within(10), pytest.raises(FormatError):  # takes about a second
        fastbpe.load(data)


# The fast vocabulary reader and its slow twin.


def both_ways(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the models that the fast reader and its slow twin make of a file, or their errors."""
    out: list[Any] = []
    for fast in (True, False):
        with monkeypatch.context() as patch:
            if not fast:
                patch.setattr(_vocab_json, "read", lambda data, **_: None)
            try:
                model = detect.read(data)
                tables = build_tables(model.tokens, model.merges) if model.tokens else dict(model.tables or {})
                kept = (bytes(tables["token_bytes"]), bytes(tables["token_ends"]))
                out.append((*kept, model._replace(tokens=None, tables=None)))
            except FormatError as error:
                out.append(str(error))
    return out


def variants(made: dict[str, Any], rng: random.Random) -> Iterator[bytes]:
    """Yield several spellings of one file."""
    yield json.dumps(made).encode()
    yield json.dumps(made, ensure_ascii=False, indent=rng.choice([1, 4])).encode()
    yield json.dumps({**made, "model": dict(reversed(made["model"].items()))}, separators=(",", ":")).encode()
    as_pairs = [merge.split(" ") for merge in made["model"]["merges"]]
    yield json.dumps({**made, "model": {**made["model"], "merges": as_pairs}}, ensure_ascii=False).encode()
    shuffled = [*made["model"]["vocab"].items()]
    rng.shuffle(shuffled)
    yield json.dumps({**made, "model": {**made["model"], "vocab": dict(shuffled)}}).encode()


@pytest.mark.daily
def test_fast_and_slow_reader_agree_on_random_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100):
        rng = random.Random(f"twins {seed}")
        made = random_document(rng)
        vocab = made["model"]["vocab"]
        if rng.random() < 0.5:
            vocab.update(
                {token: len(vocab) for token in rng.sample(["漢", "<s>", '"', "\\", "zz\u00e9", "\U0001f600"], 1)}
            )
            made["added_tokens"] = [token for token in made["added_tokens"] if token["id"] < 262]
        for data in variants(made, rng):
            fast, slow = both_ways(data, monkeypatch)
            assert fast == slow, f"seed {seed}: {data[:300]!r}"


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_fast_and_slow_reader_agree_on_damaged_files(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small([added(262, "<s>", special=True)])
    rng = random.Random(3)
    for data in variants(made, rng):
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(rng.choice([1, 1, 2, 5])):
                at = rng.randrange(len(damaged))
                damaged[at : at + rng.choice([0, 1, 1, 3])] = rng.choice(
                    [b"", b'"', b",", b"\\", b"{", b"]", b"7", b" ", b"\xc4", b"\x00", b"a"]
                )
            fast, slow = both_ways(bytes(damaged), monkeypatch)
            assert fast == slow, bytes(damaged)


_FACE_TEXTS = ["abab é", "", "<s>ab  12\n", "\u6f22 aab\U0001f600"]


def faces(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what `fastbpe.tokenizers` makes of a file with the fast reader and with its slow twin."""
    out: list[Any] = []
    for fast in (True, False):
        with monkeypatch.context() as patch:
            if not fast:
                patch.setattr(_vocab_json, "read", lambda data, **_: None)
            try:
                made = fastbpe.tokenizers.Tokenizer.from_buffer(data)
            except (FormatError, ImportError) as error:
                out.append(str(error))
                continue
            assert fast or made.model.entries is None
            try:
                encoded: Any = [(found.ids, found.tokens) for found in made.encode_batch(_FACE_TEXTS)]
                encoded.append(made.decode(encoded[0][0]))
            except (FastbpeError, ImportError) as error:
                encoded = str(error)
            vocab, names = [*made.model.vocab.items()], [*made.model.names.items()]
            out.append((encoded, vocab, names, made.model.merges, made.to_str()))
    return out


@pytest.mark.daily
def test_face_is_the_same_from_fast_and_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = 0
    for seed in range(40):
        rng = random.Random(f"faces {seed}")
        made = random_document(rng)
        for data in variants(made, rng):
            fast, slow = faces(data, monkeypatch)
            assert fast == slow, f"seed {seed}: {data[:300]!r}"
            n_read += not isinstance(fast, str)
    assert n_read > 100


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_face_takes_the_same_damaged_files_from_fast_and_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    for data in variants(small([added(262, "<s>", special=True)]), rng):
        for _ in range(60):
            damaged = bytearray(data)
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.choice([0, 1, 3])] = rng.choice([b"", b'"', b",", b"{", b"]", b"7", b" ", b"a"])
            fast, slow = faces(bytes(damaged), monkeypatch)
            assert fast == slow, bytes(damaged)


def words_document(rng: random.Random) -> dict[str, Any]:
    """Return a random tokenizer.json of a WordPiece or WordLevel."""
    tokens = ["[UNK]", "ab", "a", "b", "##b", "##ab", "\u6f22", '"', "\\", "merges", "##\U0001f600", "<s>"]
    tokens = rng.sample(tokens, rng.randint(1, len(tokens)))
    ids = sorted(rng.sample(range(len(tokens) + rng.choice([0, 0, 0, 2])), len(tokens)))
    model: dict[str, Any] = {"type": rng.choice(["WordPiece", "WordLevel"]), "unk_token": "[UNK]"}
    if model["type"] == "WordPiece":
        model["continuing_subword_prefix"] = rng.choice(["##", ""])
        model["max_input_chars_per_word"] = rng.choice([2, 9])
    if rng.random() < 0.3:
        del model["type"]
    model["vocab"] = dict(zip(tokens, ids, strict=True))
    if rng.random() < 0.2:
        model["merges"] = []
    return {
        **small(),
        "added_tokens": [added(ids[-1], tokens[-1])] if rng.random() < 0.3 else [],
        "pre_tokenizer": rng.choice([{"type": "Whitespace"}, {"type": "BertPreTokenizer"}]),
        "decoder": rng.choice([None, {"type": "WordPiece", "prefix": "##", "cleanup": True}]),
        "model": model,
    }


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_fast_and_slow_reader_agree_on_models_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = 0
    for seed in range(150):
        rng = random.Random(f"words {seed}")
        data = json.dumps(words_document(rng), ensure_ascii=rng.random() < 0.5).encode()
        if rng.random() < 0.3:
            at = rng.randrange(len(data))
            data = data[:at] + rng.choice([b"", b'"', b",", b"{", b"7", b" "]) + data[at + rng.choice([0, 1]) :]
        fast, slow = both_ways(data, monkeypatch)
        assert fast == slow, data
        fast, slow = faces(data, monkeypatch)
        assert fast == slow, data
        n_read += not isinstance(fast, str)
    assert n_read > 70


def test_face_reads_the_new_model_after_a_change() -> None:
    """The entries of the fast reader belong to the model in the file."""
    made = fastbpe.tokenizers.Tokenizer.from_buffer(dumped(small()))
    before = made.encode("abab").tokens
    copied = copy.deepcopy(made)
    vocab, merges = made.get_vocab(), made.model.merges
    made.model = fastbpe.tokenizers.models.BPE(vocab, [tuple(pair) for pair in merges[1:]])
    assert made.encode("abab").tokens != before == copied.encode("abab").tokens
    made.model.replace(vocab, merges, None, None)
    assert made.encode("abab").tokens == before
    copied.model.continuing_subword_prefix = "a"
    again = fastbpe.tokenizers.Tokenizer.from_str(copied.to_str())
    assert again.model.entries is None
    assert again.encode("abab").tokens == copied.encode("abab").tokens


def test_fast_reader_reads_published_files() -> None:
    for name in ("falcon", "phi2", "whisper_large_v3"):
        assert _vocab_json.read(file_of(name)) is not None
    assert _vocab_json.read(dumped(small())) is not None


@pytest.mark.parametrize("described", [3, [], {"sep": 1}])
def test_post_processor_that_is_none_is_named(described: object) -> None:
    with pytest.raises(FormatError, match=r"post_processor: .* is not a post-processor; fastbpe knows Roberta"):
        fastbpe.load(dumped({**small(), "post_processor": described}))


def test_17_000_added_tokens_are_found() -> None:
    made = document({shown: byte for byte, shown in enumerate(SHOWN)}, [])
    made["added_tokens"] = [added(256 + i, f"[SPECIAL_{i}]", special=True) for i in range(17_000)]
    tokenizer = load(made)
    assert tokenizer.encode("a[SPECIAL_16999]b", allowed_special="all") == [97, 17_255, 98]


def test_published_files_keep_pre_tokenizers_and_template() -> None:
    tokenizer = fastbpe.load(file_of("falcon"))
    assert len(fastbpe.steps(tokenizer)["pre_tokenizers"]) == 4
    assert tokenizer.vocab_size == 65024
    assert fastbpe.load(file_of("whisper_large_v3")).template == ([50258, 50364], [50257])


def extended(tmp_path: Path, **flags: bool) -> Tokenizer:
    """Make a tokenizer with " ab", which no merge makes, <s> with the id 258, and a learned token after it."""
    alphabet = {byte_level.text_of(bytes([byte])): byte for byte in range(256)}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 258,
                "content": "<s>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            | {"special": True, **flags}
        ],
        "normalizer": None,
        "pre_tokenizer": step,
        "post_processor": None,
        "decoder": step,
        "model": {
            "type": "BPE",
            "vocab": {**alphabet, "ab": 256, "Ġab": 257},
            "merges": ["a b"],
            "ignore_merges": True,
        },
    }
    (tmp_path / "base.json").write_text(json.dumps(document), encoding="utf-8")
    return fastbpe.train(["cd " * 9], base=fastbpe.load(tmp_path / "base.json"), vocab_size="+1", progress=False)


def test_name_before_learned_tokens_is_written_if_it_is_found_wherever_it_stands(tmp_path: Path) -> None:
    longer, path = extended(tmp_path), tmp_path / "tokenizer.json"
    longer.export(path, format="huggingface")
    text, ids = "x<s> ab<s>cd", [120, 258, 257, 258, 259]
    assert longer.encode(text, allowed_special="all") == ids
    assert fastbpe.load(path).encode(text, allowed_special="all") == ids
    assert tokenizers.Tokenizer.from_file(str(path)).encode(text).ids == ids


def test_name_that_text_may_equal_is_refused_where_pieces_are_looked_up_whole(tmp_path: Path) -> None:
    longer = extended(tmp_path, single_word=True)
    assert 258 not in longer.encode("x<s>y", allowed_special="all")
    with pytest.raises(FormatError, match="would give the id of '<s>' to the text"):
        longer.export(tmp_path / "tokenizer.json", format="huggingface")
    assert not (tmp_path / "tokenizer.json").exists()


def test_three_ids_of_one_token_are_refused(tmp_path: Path) -> None:
    singles = [bytes([byte]) for byte in range(256)]
    model = Model(
        tokens=[*singles, b"\xe6\x97", *["日".encode()] * 3],
        pattern=None,
        special_tokens={},
        merges=pack_merges([(0xE6, 0x97, 256), (256, 0xA5, 257)]),
        merges_rule="merges",
        whole_piece_first=False,
    )
    with pytest.raises(FormatError, match=r"the ids 257, 258 and 259 are all the token"):
        Tokenizer(model).export(tmp_path / "tokenizer.json", format="huggingface")
