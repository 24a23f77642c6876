"""Removing tokens, pruning and merging: cases by hand, refusals, exports, and published vocabularies."""

from __future__ import annotations

import json
import pickle
import re
import time
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import AddedToken, SpecialTokenError, Tokenizer, VocabularyError
from fastbpe.model import Model, PieceType
from fastbpe.tokenizer.internals import code_point_model_of
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES, corpus, data_file, published

TEXT = ["low lower lowest new newer newest wide wider widest"] * 3


def ranks(*tokens: str, pattern: Any = None, **special: int) -> Tokenizer:
    """Make a tokenizer of the bytes and some tokens."""
    ids = {**BYTES, **{token.encode(): 256 + i for i, token in enumerate(tokens)}}
    return Tokenizer.from_ranks(
        ids, pattern=pattern, special_tokens={f"<{name}>": i for name, i in special.items()}
    )


def pieces() -> Tokenizer:
    return trained_pieces(TEXT, 30)


def trained_pieces(texts: list[str], vocab_size: int) -> Tokenizer:
    rule = {"normalization_rule_name": "identity", "byte_fallback": False}  # a tokenizer.json can hold this
    return fastbpe.train(texts, mode="codepoint", vocab_size=vocab_size, progress=False, **rule)


def test_remade_token_keeps_its_place() -> None:
    old = ranks("ab", "abc", "bc")
    changed = old.without_tokens(["ab"])
    assert changed.tokenizer.vocab[256:] == [b"abc", b"bc"]
    assert changed.report.remade == {256: (97, 257)}
    assert not changed.report.lost
    assert changed.tokenizer.encode("abcd") == [256, 100]


def test_token_without_makers_stays_as_whole_piece_only_where_these_are_found() -> None:
    whole = ranks("he", "hel", "hell", pattern=r"\w+|\W+")
    changed = whole.without_tokens(["he"])
    assert not changed.report.lost
    assert changed.tokenizer.encode("hell") == [257]
    assert changed.tokenizer.encode("hello") == [*b"hello"]
    listed = Tokenizer.from_merges([(104, 101), (256, 108), (257, 108)], pattern=None)
    assert listed.without_tokens(["he"]).report.lost == (257, 258)


def test_list_of_merges_that_ranks_do_not_follow_gets_new_merges_behind() -> None:
    # By the list, bc merges before ab, even though its id is greater: abc is made of ab and c first.
    old = Tokenizer.from_merges([(98, 99), (97, 98), (257, 99), (97, 256)], pattern=None)
    changed = old.without_tokens(["bc"])
    assert changed.tokenizer.decode(changed.tokenizer.encode("abcabc")) == "abcabc"


def test_kept_ids_leave_gaps() -> None:
    old = ranks("ab", "bc", end=258)
    new, id_map = old.without_tokens(["ab"], keep_ids=True)
    assert new.encode("abbc<end>", allowed_special="all") == [97, 98, 257, 258]
    assert new.token_to_id("ab") is None
    assert id_map.old_to_new[256] == -1
    assert new.n_vocab == 259
    dense, id_map = old.without_tokens(["ab"])
    assert dense.encode("abbc<end>", allowed_special="all") == [97, 98, 256, 257]
    again, id_map = new.without_tokens([])  # all ids are renumbered: the gap closes
    assert again == dense
    assert id_map.old_to_new[258] == 257


def test_special_and_added_tokens_go_by_name_only() -> None:
    old = ranks("ab", end=257).with_tokens([AddedToken("<x>", lstrip=True)])
    assert old.prune(corpus=iter(["ab"])).tokenizer.special_tokens == {"<end>": 257}
    new, _ = old.without_tokens(["<end>"])
    assert new.special_tokens == {}
    assert new.added_tokens[0].id == 257
    assert old.without_tokens(["<x>", 256]).tokenizer.special_tokens == {"<end>": 256}


def test_pruning_keeps_the_makers_of_what_a_corpus_uses() -> None:
    old = ranks("he", "hel", "hell", "hello", "lo")
    changed = old.prune(corpus=["hello"])
    assert changed.tokenizer.vocab[256:] == [b"he", b"hel", b"hell", b"hello"]
    assert changed.report.makers == (256, 257, 258)
    assert changed.report.removed == (260,)
    assert old.prune(keep=258).tokenizer.vocab[256:] == [b"he", b"hel"]
    assert old.prune(keep=260, corpus=["hell"]).report.makers == (256, 257)  # "hello" only fills up the number
    assert old.prune(keep=257, corpus=["lo lo"]).tokenizer.vocab[256:] == [b"lo"]
    assert old.prune(corpus=["lo lo hello"], min_count=2).tokenizer.vocab[256:] == [b"lo"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "prune needs keep="),
        ({"min_count": 2}, "prune needs keep="),
        ({"keep": 257, "min_count": 2}, "pass corpus="),
        ({"keep": 258, "corpus": ["ab"], "min_count": 2}, "pass one of them"),
        ({"keep": 255}, "at least 256, .* at most 258"),
        ({"keep": 259}, "at least 256, .* at most 258"),
        ({"keep": -1}, "at least 256, .* at most 258"),
        ({"corpus": ["ab"], "min_count": 0}, "min_count=0: must be at least 1"),
        ({"corpus": []}, "corpus contains no tokens"),
        ({"corpus": [""]}, "corpus contains no tokens"),
    ],
)
def test_pruning_refuses_what_it_cannot_do(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ranks("ab", "bc").prune(**arguments)


@pytest.mark.parametrize("token", [97, "a", b"\xff", "<s>", "</s>", "<unk>", "l", "\u2581"])
def test_base_and_control_symbols_cannot_be_removed(token: int | str | bytes) -> None:
    tokenizer = ranks("ab") if isinstance(token, (int, bytes)) or token == "a" else pieces()
    named = r"token \d+" if isinstance(token, int) else rf"token \d+ \({re.escape(repr(token))}\)"
    with pytest.raises(VocabularyError, match=f"^{named} cannot be removed: it is "):
        tokenizer.without_tokens([token])


@pytest.mark.parametrize("token", [300, -1, "nowhere", b"nowhere", 1 << 40])
@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_tokens_of_another_vocabulary_are_refused(token: int | str | bytes, mode: str) -> None:
    tokenizer = ranks("ab") if mode == "byte" else pieces()
    before = tokenizer.fingerprint
    with pytest.raises(VocabularyError, match="not a token of this vocabulary"):
        tokenizer.without_tokens(["ab" if mode == "byte" else " low", token])
    assert tokenizer.fingerprint == before


def test_lone_surrogate_is_not_the_piece_of_a_question_mark() -> None:
    tokenizer = fastbpe.train(["a ?"], mode="codepoint", vocab_size=6, progress=False)
    with pytest.raises(VocabularyError, match="not a token of this vocabulary"):
        tokenizer.without_tokens(["\ud800"])


def test_code_points_have_no_gaps() -> None:
    with pytest.raises(VocabularyError, match="cannot have"):
        pieces().without_tokens([" low"], keep_ids=True)


def test_single_text_is_not_a_list_of_tokens() -> None:
    with pytest.raises(TypeError, match="list of ids"):
        ranks("ab").without_tokens("ab")


def test_template_keeps_its_tokens() -> None:
    step = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}},
    }
    model = Model(
        tokens=[*BYTES, b"ab", b"bc"],
        pattern="gpt2",
        special_tokens={"<s>": 258},
        template=((258,), ()),
        huggingface={"post_processor": step, "padding": {"pad_id": 258, "pad_token": "<s>"}},
        roles={"bos": "<s>"},
    )
    old = Tokenizer(model)
    with pytest.raises(VocabularyError, match="template"):
        old.without_tokens(["<s>"])
    new, _ = old.without_tokens(["ab"])
    assert new.encode_with_template("bc") == [257, 256]
    assert new.bos_token_id == 257
    parts = new._family.own.huggingface
    assert parts["post_processor"]["special_tokens"]["<s>"]["ids"] == [257]
    assert parts["padding"]["pad_id"] == 257


def test_result_is_a_pair_that_pickles() -> None:
    changed = ranks("ab", "abc").without_tokens(["ab"])
    new, id_map = changed
    assert (new, id_map) == (changed.tokenizer, changed.id_map)
    again = pickle.loads(pickle.dumps(changed))
    assert again == changed
    assert again.report == changed.report


def test_matrix_of_another_vocabulary_is_refused() -> None:
    numpy = pytest.importorskip("numpy")
    _, id_map = ranks("ab", "bc").without_tokens(["ab"])
    with pytest.raises(ValueError, match="257 rows"):
        id_map.resize(numpy.zeros((257, 2)))
    assert id_map.resize(numpy.arange(258))[256] == 257


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        (ranks("ab"), pieces(), "only tokenizers of the same mode"),
        (ranks("ab", end=257), ranks("<end>"), "also the ordinary token"),
        (ranks("<end>"), ranks("ab", end=257), "also the ordinary token"),
        (ranks("ab", end=257), ranks("ab").with_tokens(["<end>"]), "special in one"),
        (
            pieces(),
            pieces().without_tokens(["west"]).tokenizer.with_special_tokens(["west"]),
            "also the ordinary token",
        ),
    ],
)
def test_vocabularies_that_clash_are_not_merged(a: Tokenizer, b: Tokenizer, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        fastbpe.merge_vocabularies(a, b)


def test_merging_takes_tokenizers_only() -> None:
    with pytest.raises(TypeError, match="b must be a Tokenizer"):
        fastbpe.merge_vocabularies(ranks("ab"), {})  # type: ignore[arg-type]


def test_special_tokens_of_both_are_kept() -> None:
    a, b = ranks("ab", end=257), ranks("bc", end=257, more=258)
    changed = fastbpe.merge_vocabularies(a, b)
    assert changed.tokenizer.special_tokens == {"<end>": 257, "<more>": 259}
    assert changed.report.added == {256: 258, 258: 259}
    with pytest.raises(SpecialTokenError):
        fastbpe.merge_vocabularies(a, ranks("<end>"))


def test_split_pattern_of_the_first_tokenizer_decides_which_tokens_stay() -> None:
    a, b = ranks("ab", pattern=r"\w+|\W+"), ranks("a b", " b", pattern=None)
    changed = fastbpe.merge_vocabularies(a, b)
    assert changed.report.dropped == (256, 257)
    assert changed.tokenizer == a


BYTE_FORMATS = {"tokenizer.json": "huggingface", "ranks.tiktoken": "tiktoken", "model.fbpe": "native"}


@pytest.mark.parametrize("name", BYTE_FORMATS)
def test_changed_byte_level_vocabularies_are_exported(name: str, tmp_path: Path) -> None:
    base = fastbpe.train(TEXT, vocab_size=277, pattern="gpt2", special_tokens=["<end>"], progress=False)
    other = fastbpe.train(["slow slower slowest, low show"] * 4, vocab_size=266, pattern="gpt2", progress=False)
    texts = "\n".join([*TEXT, "slower shows lowest\n wide"])
    for changed in (
        base.without_tokens([" lo", "we"]),
        base.prune(keep=268),
        base.prune(corpus=["new newer"]),
        fastbpe.merge_vocabularies(base, other),
    ):
        verified = changed.tokenizer.export(tmp_path / name, format=BYTE_FORMATS[name], verify_text=texts)
        assert verified is not None
        again = fastbpe.load(tmp_path / name, **({"pattern": "gpt2"} if name.endswith("tiktoken") else {}))
        assert again.encode_ordinary(texts) == changed.tokenizer.encode_ordinary(texts)


@pytest.mark.parametrize("name", ["tokenizer.json", "pieces.model"])
def test_changed_code_point_vocabularies_are_exported(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers" if name == "tokenizer.json" else "sentencepiece")
    base = pieces()
    other = trained_pieces(["slow slower slowest low show"] * 4, 25)
    texts = "\n".join([*TEXT, "slower shows lowest", "wide"])
    for changed in (
        base.without_tokens([" low"]),
        base.prune(keep=25),
        base.prune(corpus=["new newer"]),
        fastbpe.merge_vocabularies(base, other),
    ):
        verified = changed.tokenizer.export(tmp_path / name, verify_text=texts)
        assert verified is not None
        assert verified.owner is not None
        again = fastbpe.load(tmp_path / name)
        assert again.encode_ordinary(texts) == changed.tokenizer.encode_ordinary(texts)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["cl100k_base", "llama3"])
def test_pruned_published_vocabulary_keeps_the_ids_of_its_corpus(name: str, tmp_path: Path) -> None:
    old, text = published(name), corpus("taylorswift.txt", 200_000)
    new, id_map = old.prune(corpus=iter([text]))
    ids = old.encode_ordinary(text)
    assert new.encode_ordinary(text) == id_map.old_to_new[ids].tolist()
    assert new.n_vocab < old.n_vocab / 8
    new.export(tmp_path / "tokenizer.json", format="huggingface", verify_text=text[:20_000])


@pytest.mark.daily
def test_llama_with_chinese_pieces_has_no_unreachable_or_double_piece(tmp_path: Path) -> None:
    spm = pytest.importorskip("sentencepiece")
    a = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
    b = fastbpe.load(data_file("vocab", "sp_bpe_zh_nmt_nfkc_32k.model"))
    merged, id_map = fastbpe.merge_vocabularies(a, b)
    model: Any = merged
    assert len({*model._family.own.pieces}) == merged.n_vocab
    assert (id_map.new_to_old[:32000] == range(32000)).all()
    assert (id_map.new_to_old[32000:] == -1).all()
    from fastbpe.tokenizer.surgery.token_makers import characters, piece_makers

    made = piece_makers(model._family.own, model._family.parts)
    old: Any = a
    assert {*piece_makers(old._family.own, old._family.parts)} <= {*made}
    assert all(i in made or len(characters(model._family.own.piece(i))) == 1 for i in range(32000, merged.n_vocab))
    merged.export(tmp_path / "merged.model", format="sentencepiece", verify=False)
    processor = spm.SentencePieceProcessor(model_file=str(tmp_path / "merged.model"))
    text = corpus("multilingual.txt", 400_000)
    lines = text.splitlines()
    assert processor.encode(lines) == merged.encode_ordinary_batch(lines)
    n_old, n_new = (sum(map(len, each.encode_ordinary_batch(lines))) for each in (a, merged))
    assert n_new < n_old


def test_merging_replays_long_pieces_in_linear_time() -> None:
    def points(*texts: str) -> Tokenizer:
        listed = [(text.encode(), -float(i), PieceType.NORMAL) for i, text in enumerate(texts)]
        return fastbpe.load(
            model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *listed], normalizer={"add_dummy_prefix": False})
        )

    lengths = [*(2**i for i in range(12)), *(2**11 + 2**i for i in range(11))]
    a, b = points(*("ab" * n for n in lengths), "a", "b"), points("ba", "ab", "a", "b")
    start = time.process_time()
    merged, _ = fastbpe.merge_vocabularies(a, b)  # "ba" would keep all but "ab" from being made, so it comes last
    assert merged.encode("ab" * lengths[-1]) == [len(lengths)]
    assert time.process_time() - start < 3


# Added tokens of both vocabularies


def code_points(text: str, **options: Any) -> Tokenizer:
    return fastbpe.train(
        [text], mode="codepoint", vocab_size=300, hard_vocab_limit=False, progress=False, **options
    )


def test_merging_keeps_a_user_defined_piece_with_a_space() -> None:
    a = code_points("low lower lowest")
    b = code_points("new newer newest", user_defined_symbols=["\u2581x"])
    change = fastbpe.merge_vocabularies(a, b)
    merged, report = change.tokenizer, change.report
    assert 3 in report.added
    assert report.dropped == ()
    assert merged.token_to_id("\u2581x") == report.added[3]


def letters(*first: tuple[bytes, float, int], **trainer: Any) -> Tokenizer:
    """Make a tokenizer of some pieces, and of the characters of `<0x41>` and `<unk>`."""
    alone = [(c.encode(), -10.0 - i, PieceType.NORMAL) for i, c in enumerate("▁<0x41>unk")]
    return fastbpe.load(model_of([*first, *alone], trainer))


def test_text_that_is_the_name_of_another_piece_is_left_out() -> None:
    unknown = (b"<unk>", 0.0, PieceType.UNKNOWN)
    spelled = [b"<0", b"<0x", b"<0x4", b"<0x41", b"<0x41>"]
    text = letters(unknown, *((piece, -float(i), PieceType.NORMAL) for i, piece in enumerate(spelled)))
    names = letters(unknown, *((b"<0x%02X>" % i, -50.0, PieceType.BYTE) for i in range(256)), byte_fallback=True)
    merged, _ = change = fastbpe.merge_vocabularies(names, text)
    assert [text.id_to_token(i) for i in change.report.dropped] == [b"<0x41>"]
    assert change.report.common == 1 + 10  # <unk> and the characters
    assert merged.encode("<0x41>")[-1] == merged.token_to_id(">")
    assert code_point_model_of(merged).scores[: 4 * 257] == code_point_model_of(names).scores[: 4 * 257]
    assert len(fastbpe.merge_vocabularies(text, names).report.dropped) == 256
    spelled = [b"<u", b"<un", b"<unk", b"<unk>"]
    other = letters(
        (b"[?]", 0.0, PieceType.UNKNOWN),
        *((piece, -float(i), PieceType.NORMAL) for i, piece in enumerate(spelled)),
        unk_piece="[?]",
    )
    report = fastbpe.merge_vocabularies(letters(unknown), other).report
    assert [other.id_to_token(i) for i in report.dropped] == [b"<unk>"]


def test_scores_that_are_not_numbers_keep_their_order() -> None:
    nan = float("nan")  # the best score
    own = {"aa": 3, "aaa": nan, "aaabb": 0, "aab": 0, "aaba": nan, "ab": nan, "abb": 4, "ba": 8}
    theirs = {"aab": 5, "ababa": 4, "abb": nan, "abbb": 3, "baa": -8}
    unknown = (b"<unk>", 0.0, PieceType.UNKNOWN)
    a, b = (
        fastbpe.load(
            model_of([unknown, *((p.encode(), s, PieceType.NORMAL) for p, s in {**of, "a": -9, "b": -9}.items())])
        )
        for of in (own, theirs)
    )
    merged = fastbpe.merge_vocabularies(a, b).tokenizer  # a loop without an end if the order is another one
    assert all(merged.encode(piece) == a.encode(piece) for piece in ("ab", "aaba", "aaa"))


def test_merging_takes_an_added_token_with_u2581_from_a_tokenizer_json(tmp_path: Path) -> None:
    b = code_points("new newer newest", byte_fallback=True, normalization_rule_name="identity")
    b.export(tmp_path / "tokenizer.json")
    fields = json.loads((tmp_path / "tokenizer.json").read_text())
    fields["added_tokens"] = [token for token in fields["added_tokens"] if token["content"] != "<unk>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    b = fastbpe.load(tmp_path / "tokenizer.json").with_tokens([fastbpe.AddedToken("\u2581x", normalized=False)])
    a = code_points("low lower lowest")
    change = fastbpe.merge_vocabularies(a, b)
    merged, report = change.tokenizer, change.report
    assert report.added[b.token_to_id("\u2581x")] == merged.token_to_id("\u2581x")


def test_merging_takes_a_token_that_is_both_ordinary_and_added() -> None:
    a = Tokenizer.from_merges([(97, 98)], pattern=None)
    b = Tokenizer.from_merges([(98, 99), (97, 256)], pattern=None)
    b = b.with_tokens([fastbpe.AddedToken("abc", 257)])
    change = fastbpe.merge_vocabularies(a, b)
    merged, report = change.tokenizer, change.report
    assert report.added == {256: 257, 257: 258}
    assert merged.vocab[256:] == [b"ab", b"bc", b"abc"]
    assert [token.content for token in merged.added_tokens] == ["abc"]


def test_whole_piece_with_a_character_that_is_no_token_stays() -> None:
    model = {
        "type": "BPE",
        "ignore_merges": True,
        "vocab": {"a": 0, "b": 1, "za": 2, "ab": 3},
        "merges": [["a", "b"]],
    }
    old = fastbpe.load(json.dumps({"model": model}).encode())
    assert old.decode(old.encode("za")) == "za"
    with pytest.raises(
        VocabularyError,
        match="one of its characters is not a token by itself, so texts with it could not be restored",
    ):
        old.without_tokens(["za"])
    assert old.without_tokens(["ab"]).tokenizer.vocab == [b"a", b"b", b"za"]
    assert old.prune(keep=3).tokenizer.vocab == [b"a", b"b", b"za"]


def test_last_ordinary_token_stays() -> None:
    added = {"id": 1, "content": "<s>", "special": True} | dict.fromkeys(
        ["single_word", "lstrip", "rstrip", "normalized"], False
    )
    model = {"type": "WordLevel", "vocab": {"ab": 0}, "unk_token": "[UNK]"}
    old = fastbpe.load(json.dumps({"model": model, "added_tokens": [added]}).encode())
    with pytest.raises(VocabularyError, match="no ordinary token would be left; keep one"):
        old.without_tokens(["ab"])
    with pytest.raises(VocabularyError, match="no ordinary token would be left; keep one"):
        old.prune(keep=1)


def test_many_listed_tokens_that_depend_on_a_removed_one_are_removed_in_seconds() -> None:
    n_bytes, made = 256, [(97, 98)]
    while len(made) < 40_000:  # each token is made from the token at its index // 256
        made.append((n_bytes + (len(made) - 1) // n_bytes, (len(made) - 1) % n_bytes))
    in_two_ways = [(120, 121), (n_bytes + len(made), 122), (121, 122), (120, n_bytes + len(made) + 2)]  # "xyz"
    tokenizer = Tokenizer.from_merges([*made, *in_two_ways], pattern=None)
    start = time.process_time()
    changed = tokenizer.without_tokens(["ab"])
    assert time.process_time() - start < 5
    assert changed.tokenizer.vocab_size < 300
