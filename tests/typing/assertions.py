"""Types that mypy must infer for users of fastbpe, and mistakes that mypy must report.

mypy reads this file and nothing runs it (see test_types.py). Lines that must be errors end with `# error: CODE`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import fastbpe
from fastbpe import minbpe, sentencepiece, tiktoken
from fastbpe.tokenizer.tokenizer import Tokenizer

# fastbpe
tokenizer = fastbpe.train(["a text"], vocab_size=300, special_tokens=["<s>"])
assert_type(tokenizer, fastbpe.Tokenizer)
assert_type(fastbpe.load("a.fbpe"), fastbpe.Tokenizer | Any)
loaded = fastbpe.load("codes.fbpe")
if isinstance(loaded, fastbpe.SequenceTokenizer):
    assert_type(loaded.encode([1, 2]), list[int])
assert_type(fastbpe.SequenceTokenizer.load("codes.fbpe"), fastbpe.SequenceTokenizer)
codes = fastbpe.train([[1, 2]], mode="ids", base_size=3, vocab_size=5, special_tokens=["<end>"])
assert_type(codes, fastbpe.SequenceTokenizer)
assert_type(fastbpe.train([[1, 2]], base=codes, vocab_size="+1"), fastbpe.SequenceTokenizer)
points = fastbpe.train(["a"], mode="codepoint", vocab_size="characters", character_coverage=1.0)
assert_type(points, Tokenizer)
assert_type(fastbpe.train(["a"], base=points, vocab_size="+1"), Tokenizer)
assert_type(fastbpe.train(["a"], base=tokenizer, vocab_size="+1", ties="pair"), fastbpe.Tokenizer)
assert_type(fastbpe.count_pieces(["a text"]), fastbpe.PieceCounts)
named = {"en": ["a text"], "de": ["ein Text"]}
parity = fastbpe.Parity(dev=named, window=100, alpha=2, global_merges=10)
assert_type(fastbpe.train(named, vocab_size=300, parity=parity, weights={"de": 2}), fastbpe.Tokenizer)
assert_type(fastbpe.train(named, vocab_size=300, mode="codepoint", weights={"de": 2}), fastbpe.Tokenizer)
counts_by_name = {name: fastbpe.count_pieces(some) for name, some in named.items()}
assert_type(
    fastbpe.train(counts_by_name, vocab_size=300, parity=fastbpe.Parity(ratio={"en": 1, "de": 1.5})), Tokenizer
)
assert_type(2 * fastbpe.count_pieces(["a text"]), fastbpe.PieceCounts)
assert_type(fastbpe.PATTERNS, Mapping[str, str | tuple[str, ...] | None])
assert_type(tokenizer.encode("a text"), list[int])
assert_type(tokenizer.encode(b"a text"), list[int])
assert_type(tokenizer.encode_batch(["a text"]), list[list[int]])
assert_type(tokenizer.encode_to_numpy("a text"), NDArray[np.uint32])
assert_type(tokenizer.encode_to_numpy("a text", dtype="uint16"), NDArray[Any])
assert_type(tokenizer.encode_with_offsets("a text"), tuple[list[int], list[tuple[int, int]]])
assert_type(tokenizer.encode_with_offsets("a", as_numpy=True), tuple[NDArray[np.uint32], NDArray[np.int64]])
assert_type(tokenizer.encode_batch_with_offsets(["a"]), list[tuple[list[int], list[tuple[int, int]]]])
assert_type(tokenizer.truncate("a text", 1), str)
assert_type(tokenizer.truncate("a text", 1, with_total=True), tuple[str, int])
assert_type(next(tokenizer.chunk("a text", 1)), str)
assert_type(next(tokenizer.chunk("a text", 1, with_spans=True)).start, int)
assert_type(tokenizer.conversation().append("a text"), tuple[int, list[int]])
assert_type(tokenizer.conversation().replace(0, 1, "b"), tuple[int, int, list[int]])
assert_type(fastbpe.joins(tokenizer, "a", b"b"), bool)
assert_type(tokenizer.completions(b"a"), list[int])
assert_type(tokenizer.explain("a").pieces[0].merges[0].left, bytes)
assert_type(tokenizer.decode([97]), str)
assert_type(tokenizer.decode_bytes([97]), bytes)
assert_type(tokenizer.count("a text"), int)


async def encode_beside_a_loop() -> None:
    assert_type(await fastbpe.aencode(tokenizer, "a text"), list[int])
    assert_type(await fastbpe.aencode_batch(tokenizer, ["a text"]), list[list[int]])


assert_type(tokenizer.vocab, list[bytes])
fastbpe.train(["a text"], vocab_size=300, special_tokenz=["<s>"])  # error: call-overload
fastbpe.train(["a text"])  # error: call-overload
fastbpe.train(["a text"], vocab_size=3.5)  # error: call-overload
fastbpe.train(["a text"], vocab_size=300, mode="bytes")  # error: call-overload
fastbpe.train(["a text"], vocab_size=300, ties="pairs")  # error: call-overload
fastbpe.train(["a text"], vocab_size=300, on_error="ignore")  # error: call-overload
fastbpe.train(["a text"], vocab_size=300, errors="ignore")  # error: call-overload
fastbpe.train(["a text"], vocab_size=300, base_special="start")  # error: call-overload
fastbpe.train([[1]], vocab_size=300, mode="ids", base_size=2, ties="huggingface")  # error: call-overload
fastbpe.train([[1]], vocab_size=300, mode="ids", base_size=2, num_threads=2)  # error: call-overload
fastbpe.train(named, vocab_size=300, mode="codepoint", parity=parity)  # error: call-overload
fastbpe.train(named, vocab_size=300, mode="unigram", weights={"de": 2})  # error: call-overload
fastbpe.train(named, vocab_size=300, weights={"de": 2.5})  # error: dict-item
fastbpe.train(named, vocab_size=300, parity={"dev": named})  # error: call-overload
fastbpe.Parity(ratio={"en": "1"})  # error: dict-item
fastbpe.Parity(windows=3)  # error: call-arg
fastbpe.train(["a text"], vocab_size=300, separatr="|")  # error: call-overload
fastbpe.count_pieces(["a text"], separatr="|")  # error: call-arg
fastbpe.count_pieces(["a text"], special_tokenz=["<s>"])  # error: call-arg
fastbpe.count_pieces(["a text"], on_error="ignore")  # error: arg-type
fastbpe.count_pieces(["a text"], num_threads="2")  # error: arg-type
fastbpe.count_pieces(["a text"], mode="bytes")  # error: arg-type
fastbpe.count_pieces(["a text"], mode="ids")  # error: arg-type
tokenizer.chunk("a text", 1, boundary="sentences")  # error: call-overload
tokenizer.truncate("a text", 1, boundary="words")  # error: call-overload
tokenizer.truncate("a text", 1, side="start")  # error: call-overload
tokenizer.truncate_batch(["a text"], 1, side="start")  # error: arg-type
tokenizer.conversation().truncate_to(1, side="end")  # error: arg-type
tokenizer.encode_with_offsets("a text", unit="bytes")  # error: call-overload
tokenizer.encode_batch_with_offsets(["a text"], unit="utf-16")  # error: call-overload
tokenizer.export("a.json", format="hugging")  # error: arg-type
tokenizer.decode([97], errors="skip")  # error: arg-type
tokenizer.decode([97], unknown_ids="ignore")  # error: arg-type
tokenizer.decode_batch([[97]], unknown_ids="ignore")  # error: arg-type
tokenizer.decoder(errors="skip")  # error: arg-type
tokenizer.encode_files("a.txt", "a.bin", dtype="int32")  # error: arg-type
tokenizer.encode_files("a.txt", "a.bin", on_error="ignore")  # error: arg-type
tokenizer.encode_files("a.txt", "a.bin", header="llmc")  # error: arg-type
fastbpe.open_ids("a.bin", dtype="int")  # error: arg-type
fastbpe.merge_shards("a.bin", "b.bin", header="llmc")  # error: arg-type
tokenizer.encode(97)  # error: arg-type
tokenizer.encode("a text", allowed_specials="all")  # error: call-arg
tokenizer.decode("a text")  # error: arg-type
tokenizer.encod("a text")  # error: attr-defined
assert_type(fastbpe.tiktoken.get_encoding("gpt2"), tiktoken.Encoding)
assert_type(fastbpe.minbpe.BasicTokenizer().encode("a"), list[int])
fastbpe.trian(["a text"], vocab_size=300)  # error: attr-defined

# fastbpe.sentencepiece: encode() and decode() return what the constructor's out_type says, so they are Any
processor = sentencepiece.SentencePieceProcessor(model_file="a.model")
assert_type(processor, sentencepiece.SentencePieceProcessor)
assert_type(processor.encode("a text"), Any)
assert_type(processor.encode_as_ids("a text"), list[int])
assert_type(processor.encode_as_ids(["a text"]), list[list[int]])
assert_type(processor.encode_as_pieces("a text"), list[str])
assert_type(processor.encode_as_pieces(["a text"]), list[list[str]])
assert_type(processor.encode_as_numpy("a text"), NDArray[np.int32])
assert_type(processor.EncodeAsIds("a text"), list[int])
assert_type(processor.id_to_piece(1), str)
assert_type(processor.id_to_piece([1]), list[str])
assert_type(processor.piece_to_id("a"), int)
assert_type(processor.get_score(1), float)
assert_type(processor.is_byte([1]), list[bool])
assert_type(processor.vocab_size(), int)
processor.encode(97)  # error: arg-type
processor.encode("a text", add_boss=True)  # error: call-arg
processor.piece_to_id(1)  # error: call-overload

# fastbpe.tiktoken
encoding = tiktoken.get_encoding("gpt2")
assert_type(encoding, tiktoken.Encoding)
assert_type(tiktoken.encoding_for_model("gpt-4o"), tiktoken.Encoding)
assert_type(encoding.encode("a text"), list[int])
assert_type(encoding.encode_batch(["a text"]), list[list[int]])
assert_type(encoding.decode([1]), str)
assert_type(encoding.n_vocab, int)
encoding.encode(97)  # error: arg-type

# fastbpe.minbpe
basic = minbpe.BasicTokenizer()
assert_type(basic.encode("a text"), list[int])
assert_type(basic.decode([97]), str)
basic.encode(97)  # error: arg-type
