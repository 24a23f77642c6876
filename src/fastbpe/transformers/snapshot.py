"""The part of a `tokenizers.Tokenizer`'s state that decides ids and texts, and an independent copy of it."""

from __future__ import annotations

import json
import weakref
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.transformers._original import tokenizers

#: Options that a program may set in place, by the class of the model.
MODEL_OPTIONS = {
    "BPE": (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
    ),
    "Unigram": ("nbest_size", "alpha"),
    "WordPiece": ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    "WordLevel": ("unk_token",),
}
COMPONENTS = ("normalizer", "pre_tokenizer", "decoder")

_NO_TOKENS: dict[str, Any] = {"type": "BPE", "vocab": {}, "merges": []}

#: All copies that exist.
TWINS: weakref.WeakKeyDictionary[Twin, None] = weakref.WeakKeyDictionary()


def alive(kept: weakref.WeakKeyDictionary[Any, None]) -> list[Any]:
    """List the keys. Other threads may add some meanwhile: then iterating, also over a WeakSet, would fail."""
    return [found for ref in kept.keyrefs() if (found := ref()) is not None]


class State(NamedTuple):
    """Settings of a tokenizer that decide ids and texts, except the post-processor, truncation and padding.

    Two equal states of the same tokenizer lead to the same ids, apart from those settings and from dropout.

    components: pickled state of each of COMPONENTS; None for a component that is not set.
    options: value of each of the model's MODEL_OPTIONS.
    n_changes: number of changes to vocabulary and added tokens.
    """

    components: tuple[Any, ...]
    options: tuple[Any, ...]
    n_changes: int


def read_state(tokenizer: Any, n_changes: int) -> State:
    """Read the state of a tokenizer, in a few microseconds. n_changes: number of changes counted so far.

    tokenizers raises an exception if a component is written in Python, because it has no state.
    """
    model = tokenizer.model
    return State(
        (
            component_state(tokenizer.normalizer),
            component_state(tokenizer.pre_tokenizer),
            component_state(tokenizer.decoder),
        ),
        _options(model),
        n_changes,
    )


def _options(model: Any) -> tuple[Any, ...]:
    if type(model) is tokenizers.models.BPE:  # written out: this is half the time of `read_state`
        return (
            model.dropout,
            model.unk_token,
            model.continuing_subword_prefix,
            model.end_of_word_suffix,
            model.fuse_unk,
            model.byte_fallback,
            model.ignore_merges,
        )
    return tuple(getattr(model, name, None) for name in MODEL_OPTIONS[type(model).__name__])


def sampling_of(model: Any) -> str:
    """Return the option with which a model encodes at random, such as "dropout=0.1"; "" if it does not."""
    name = {"BPE": "dropout", "Unigram": "alpha"}.get(type(model).__name__)  # nbest_size needs an alpha
    value = getattr(model, name) if name else None
    return f"{name}={value:g}" if value else ""


def component_state(component: Any) -> Any:
    """Return the pickled state of a tokenizer's component, its compact JSON as bytes; None without a component."""
    return None if component is None else component.__getstate__()


def remembered_specials(tokenizer: Any, added: dict[int, Any]) -> set[int]:
    """Find the ids of added tokens that were special before they were added again as ordinary ones.

    tokenizers still splits them with `encode_special_tokens`, and still leaves them out of decoded text. No copy
    or file contains this fact.
    """
    ids = [i for i, token in added.items() if not token.special]
    rows = [[i] * 3 for i in ids]  # three: a decoder may remove a space at each end
    if not rows:
        return set()
    skipped, whole = (tokenizer.decode_batch(rows, skip_special_tokens=skips) for skips in (True, False))
    return {i for i, left, text in zip(ids, skipped, whole, strict=True) if text and not left}


def differs_from_its_file(tokenizer: Any, added: dict[int, Any]) -> bool:
    """Tell whether an added token's id differs from the one that a tokenizer.json of the tokenizer would give it.

    Each call that adds tokens numbers the new ones from the size of the vocabulary on, or from one past the
    greatest id of an added token if that is higher. A file numbers all of them from the size of the vocabulary on.
    The two numberings may differ if the ids of the vocabulary have gaps.
    """
    following, model = tokenizer.get_vocab_size(with_added_tokens=False), tokenizer.model
    for i, token in sorted(added.items()):
        own = model.token_to_id(token.content)
        if i != (following if own is None else own):
            return True
        following += own is None
    return False


def has_old_forms(tokenizer: Any) -> bool:
    """Tell whether an added token was added again with normalized=False, but is still decoded to its old form.

    No copy or file contains this fact.
    """
    added = tokenizer.get_added_tokens_decoder().items()
    return any(tokenizer.id_to_token(i) != token.content for i, token in added if not token.normalized)


class Twin:
    """Copy of a tokenizer's present state. It shares the vocabulary, but later changes do not affect it.

    The vocabulary is copied before a program trains the original, and when `get` finds that a program has changed
    an option of the model. The copy is made at its first use, because most programs read only the ids of a batch.
    """

    def __init__(self, tokenizer: Any) -> None:
        names = (*COMPONENTS, "post_processor")
        self._model = tokenizer.model
        self._options = _options(self._model)
        self._source = weakref.ref(tokenizer)
        self._components = {name: component_state(getattr(tokenizer, name)) for name in names}
        self._added = tokenizer.get_added_tokens_decoder()
        self._remembered = remembered_specials(tokenizer, self._added)
        self._made: Any = None
        TWINS[self] = None

    def get(self) -> Any:
        """Return the copy. Raises ValueError if its added tokens would not be the same."""
        if self._made is None:
            # By way of a tokenizer.json: unpickling fails for a Replace that is not in a sequence.
            parts: dict[str, Any] = {"version": "1.0", "added_tokens": [], "model": {**_NO_TOKENS}}
            parts |= {name: state and json.loads(state) for name, state in self._components.items()}
            made: Any = tokenizers.Tokenizer.from_str(json.dumps(parts))
            made.model = self._model
            for i, token in sorted(self._added.items()):
                if i in self._remembered:
                    made.add_special_tokens([token.content])
                (made.add_special_tokens if token.special else made.add_tokens)([token])
            if {i: repr(token) for i, token in made.get_added_tokens_decoder().items()} != {
                i: repr(token) for i, token in self._added.items()
            }:
                raise ValueError("the tokenizer cannot be rebuilt: its added tokens would get other ids")
            self._made = made
        if _options(self._model) != self._options:  # a program has changed them in place
            self._copy_model()
        return self._made

    def before_training(self, tokenizer: Any) -> None:
        """Copy the model if training is about to change it in place. tokenizer: the tokenizer that will learn."""
        if self._source() is tokenizer:
            self._copy_model()

    def _copy_model(self) -> None:
        """Stop sharing the model; the copy gets the options that the model had when the twin was created."""
        options = dict(zip(MODEL_OPTIONS[type(self._model).__name__], self._options, strict=True))
        state = json.loads(self._model.__getstate__())
        state |= {name: value for name, value in options.items() if name in state}
        copied = type(self._model)()
        copied.__setstate__(json.dumps(state).encode())
        for name, value in options.items():
            setattr(copied, name, value)
        self._model = copied
        if self._made is not None:
            self._made.model = copied
