"""Definition of a tokenizer: model, components, added tokens and settings, and fastbpe's tokenizer that runs them.

fastbpe's reader of tokenizer.json builds that tokenizer for the first call that needs it, and again after a
change.
"""

from __future__ import annotations

from fastbpe._utils import late_json as json
from fastbpe._utils.threads import ForkSafeLock
from fastbpe.errors import FormatError
from fastbpe.huggingface import checked_arguments
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers import (
    added_tokens,
    components,
    decoders,
    document,
    encoded_rows,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from fastbpe.tokenizers.built import Built, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Name of a component → the function that creates it from its JSON, and its class.
_KINDS: dict[str, tuple[Any, type]] = {
    "normalizer": (normalizers.find, normalizers.Normalizer),
    "pre_tokenizer": (pre_tokenizers.find, pre_tokenizers.PreTokenizer),
    "post_processor": (processors.find, processors.PostProcessor),
    "decoder": (decoders.find, decoders.Decoder),
}


class Definition:
    """Parts of a tokenizer, which `set`, `set_component` and `add` may change at any time.

    components: name → component, or None.
    truncation, padding: values of the properties `truncation` and `padding` of `Tokenizer`; None: off.
    splits_special: True: special tokens in texts are encoded like any other text.

    Raises TypeError if the argument is not a model.
    """

    def __init__(self, model: Any) -> None:
        self.model: Any = models.checked(model)
        self.components: dict[str, Any] = dict.fromkeys(document.PARTS)
        self.added = added_tokens.AddedTokens()
        self.truncation: dict[str, Any] | None = None
        self.padding: dict[str, Any] | None = None
        self.splits_special = False
        #: Result of `ready`, and the object in EPOCH for which it is valid.
        self._setup: tuple[encoded_rows.Setup | None, object] = None, None
        self._built: Built | None = None
        self._lock = ForkSafeLock()  # held to build and to set `_setup` and `_built`

    @classmethod
    def read(cls, data: bytes) -> Definition:
        """Read a tokenizer.json.

        Raises FormatError if the bytes are not a tokenizer.json, or a part of it is invalid or unknown.
        """
        read, entries = document.read(data)
        made = cls(models.find(read["model"]))
        if entries is not None:
            made.model.take_entries(entries)
        for name, (find, _) in _KINDS.items():
            if read.get(name) is not None:
                made.components[name] = components.found_at(name, find, read[name])
        made.added = added_tokens.read(read.get("added_tokens", []), made.model)
        made.truncation = document.read_truncation(read.get("truncation"))
        made.padding = document.read_padding(read.get("padding"))
        return made

    def copied(self) -> Definition:
        """Return a copy, independent of later changes.

        As in tokenizers, added tokens get the ids that they would get from a file, and `splits_special` is False.
        """
        from copy import deepcopy  # here: few programs copy a tokenizer

        made = Definition(deepcopy(self.model))
        made.components = deepcopy(self.components)
        made.added = self.added.renumbered(made.model)
        made.truncation = None if self.truncation is None else {**self.truncation}
        made.padding = None if self.padding is None else {**self.padding}
        if self._built is not None and isinstance(self._built.native, Native):  # an engine runs `self.model`
            made._built = self._built
        return made

    # Changes

    def set(self, name: str, value: Any) -> None:
        """Set an attribute that is not a component."""
        setattr(self, name, value)
        components.changed()

    def set_component(self, name: str, value: Any) -> None:
        """Set a component to an object of this package, to a copy of an object of tokenizers, or to None.

        Raises TypeError for any other object, and FormatError if fastbpe lacks the component of tokenizers.
        """
        find, kind = _KINDS[name]
        if components.is_theirs(value):
            value = find(json.loads(value.__getstate__()))  # tokenizers pickles a component as its JSON
        if value is not None:
            checked_arguments.of_type(value, kind)
        self.components = {**self.components, name: value}
        if name == "normalizer":
            self.added.old_forms = {}  # tokenizers then normalizes the added tokens again
        components.changed()

    def add(self, tokens: list[Any]) -> int:
        """Add tokens; return the number of tokens that were added or changed."""
        added = self.added.copied()
        n = added.add(tokens, self.model, self.components["normalizer"])
        self.set("added", added)
        return n

    # Tokens

    def find(self, token: str) -> int | None:
        """Return the id of a token, spelled as in the vocabulary; None if there is no such token."""
        found: int | None = self.added.ids.get(token, self.model.vocab.get(token))
        return found

    def token(self, token_id: int) -> str | None:
        """Return the token of an id, or None, as `Tokenizer.id_to_token` does."""
        added = self.added.tokens.get(token_id)
        if added is None:
            token: str | None = self.model.names.get(token_id)
            return token
        normalizer: normalizers.Normalizer | None = self.components["normalizer"] if added.normalized else None
        if normalizer is not None:
            return normalizer.normalize_str(added.content)
        return self.added.old_forms.get(token_id, added.content)

    def decode_slowly(self, ids: list[int], *, skips: bool) -> str:
        """Decode ids with the decoder, or, without one, join tokens with spaces. skips: omit special tokens."""
        special = self.added.special if skips else ()
        tokens = [token for token in map(self.token, ids) if token is not None and token not in special]
        decoder: decoders.Decoder | None = self.components["decoder"]
        return " ".join(tokens) if decoder is None else decoder.decode(tokens)

    # The JSON

    def described(self) -> dict[str, Any]:
        """Return the JSON of the tokenizer, as in a tokenizer.json."""
        return self._described(
            {name: None if one is None else one.state() for name, one in self.components.items()},
            self.model.state(),
        )

    def _described(self, parts: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON of the tokenizer with the JSON of the components and of the model."""
        return {
            "version": "1.0",
            "truncation": document.dump_truncation(self.truncation),
            "padding": document.dump_padding(self.padding),
            "added_tokens": self.added.listed(),
            **parts,
            "model": model,
        }

    # fastbpe's tokenizer

    def ready(self) -> encoded_rows.Setup:
        """Return the present settings; build them again if anything changed. Raises as `build` does."""
        # Read EPOCH first: a change while this builds then makes the next call build again.
        (setup, seen), now = self._setup, components.EPOCH[0]
        if setup is not None and seen is now:
            return setup
        with self._lock:
            post = self.components["post_processor"]
            post = None if post is None else processors.find(post.state())  # a copy: encodings keep their setup
            built, decodes = self._build()
            trimmers = {} if setup is None or setup.native is not built.native else setup.trimmers
            setup = encoded_rows.Setup(
                native=built.native,
                decodes=decodes,
                names=built.names,
                added=self.added.tokens.keys(),
                post=post,
                truncation=self.truncation,
                padding=self.padding,
                splits_special=self.splits_special,
                plans={},
                texts=({}, {}),
                trimmers=trimmers,
            )
            self._setup = setup, now
        return setup

    def decoding(self) -> tuple[Native, encoded_rows.TextTables] | None:
        """Return fastbpe's tokenizer and its `Setup.texts` if it decodes as `decode_slowly` does, else None."""
        try:
            setup = self.ready()
        except (ImportError, FormatError):
            return None
        native = setup.native
        return (native, setup.texts) if setup.decodes and isinstance(native, Native) else None

    def _build(self) -> tuple[Built, bool]:
        """Return fastbpe's tokenizer, without the post-processor and without a decoder written in Python.

        Returns the last one if nothing changed that it depends on. The bool tells whether it decodes as
        `decode_slowly` does. The caller holds the lock; other threads may replace the parts meanwhile.
        """
        model, added, own = self.model, self.added, self.components
        decoder = own["decoder"]
        is_written = decoder is not None and decoder.written is not None
        left_out = {"post_processor", "decoder"} if is_written else {"post_processor"}
        parts = {name: None if one is None or name in left_out else one.described() for name, one in own.items()}
        merges = model.merges if model.entries is None else model.entries
        state = model.names, merges, model.options(), parts, added.tokens, added.special
        if self._built is None or self._built.state != state:
            self._built = self._new(parts, model, added, state)
        return self._built, self._built.decodes and not is_written and not added.old_forms

    def _new(
        self, parts: dict[str, Any], model: Any, added: added_tokens.AddedTokens, state: tuple[Any, ...]
    ) -> Built:
        """Build fastbpe's tokenizer. parts: JSON of components; state: as in `Built`."""
        described = {**self._described(parts, model.outline()), "truncation": None, "padding": None}
        described["added_tokens"] = added.for_encoding()
        # If an added token shares its id with the model's token, the model's counts here: encodings get the texts
        # of added tokens from `Words.found`.
        names = {**{i: token.content for i, token in added.tokens.items()}, **model.names}
        built = build(described, model, names, state)
        return built._replace(decodes=built.decodes and added.skips_by_id(model))
