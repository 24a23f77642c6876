"""Learning of scores from counted words with sentencepiece's algorithm, for `UnigramTrainer`."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.errors import TrainingError
from fastbpe.tokenizers.segmenting_trainers import UnigramTrainer
from fastbpe.training.unigram import N_SLOTS, learn_pieces

_N_CODE_POINTS = 0x110000


def learn_scores(words: Mapping[str, int], trainer: UnigramTrainer) -> tuple[list[tuple[str, float]], int | None]:
    """Learn tokens and their scores.

    Args:
        words: word → count. The order has no effect.
        trainer: the options.

    Returns:
        The tokens, special tokens first; and the id of the unknown token, or None.

    Raises:
        TrainingError: vocab_size is smaller than the number of characters.
    """
    characters = sorted({*trainer.initial_alphabet}.union(*words))
    if len(characters) > trainer.vocab_size:
        raise TrainingError(
            "The vocabulary is not large enough to contain all chars: "
            f"vocab_size={trainer.vocab_size}, and there are {len(characters)} characters; raise vocab_size"
        )
    special = [token.content for token in trainer.special_tokens]
    unknown = trainer.options()["unk_token"]
    if unknown is not None and unknown not in special:
        special.insert(0, unknown)
    store = SentenceStore(split_by_whitespace=False)
    for word, count in words.items():
        store.append(word.encode(), count)
    n_free = max(trainer.vocab_size - len(special), 0)
    options = trainer.options()
    pieces, _ = learn_pieces(
        store,
        bytes(_N_CODE_POINTS),  # any characters may be adjacent
        {
            "max_sentencepiece_length": options["max_piece_length"],
            "shrinking_factor": options["shrinking_factor"],
            "num_sub_iterations": options["n_sub_iterations"],
            "num_threads": N_SLOTS,
        },
        n_free=n_free,
        n_seeds=options["seed_size"],
        more=characters,
        n_threads=usable_threads(None),
        reporter=Reporter(trainer.progress()),
    )
    known = {*special}
    listed = [(piece.decode(), score) for piece, score in pieces.items() if piece.decode() not in known]
    return [*((token, 0.0) for token in special), *listed], None if unknown is None else special.index(unknown)
