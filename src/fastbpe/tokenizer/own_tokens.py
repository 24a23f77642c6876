"""A model's own tokens: which one begins a text, ends it, pads it or is unknown, and what stands around texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastbpe._utils.caching import cached_property
from fastbpe.model import PAIR, TEXT, Templates

if TYPE_CHECKING:
    from fastbpe.tokenizer.tokenizer import Text

ROLES = ("bos", "eos", "pad", "unk")

#: Names that published vocabularies give to these tokens, the likeliest first.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<bos>", "<|startoftext|>", "[BOS]"),
    "eos": (
        "</s>",
        "<|end_of_text|>",
        "<｜end▁of▁sentence｜>",
        "<eos>",
        "<|endoftext|>",
        "[EOS]",
    ),
    "pad": ("<pad>", "<|pad|>", "<｜▁pad▁｜>", "<|finetune_right_pad_id|>", "[PAD]"),
    "unk": ("<unk>", "<|unk|>", "[UNK]"),
}


class OwnTokens:
    """The properties `bos_token_id` and the like, and `encode_with_template`."""

    @property
    def bos_token_id(self) -> int | None:
        """The id of the token that begins a text, such as `<s>`; None if there is none.

        The first of these that names a token that there is:

        1. what a file says: the `tokenizer_config.json` or the `special_tokens_map.json` of a folder; else the
           control symbol of a sentencepiece model, or the `unk_token` of a tokenizer.json;
        2. the `template`: a text begins with its first id, and ends with its last;
        3. the names of published vocabularies, `<s>`, `<|begin_of_text|>`, `</s>`, `<|endoftext|>`, `<pad>` and so
           on, among the special tokens.

        It decides no ids: neither `encode` nor the fingerprint depends on it.

        >>> from fastbpe import Tokenizer
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None, special_tokens={"<|endoftext|>": 256})
        >>> tokenizer.bos_token_id, tokenizer.eos_token_id
        (None, 256)
        """
        return self._roles["bos"]

    @property
    def eos_token_id(self) -> int | None:
        """The id of the token that ends a text, such as `</s>`; None if there is none. See `bos_token_id`."""
        return self._roles["eos"]

    @property
    def pad_token_id(self) -> int | None:
        """The id of the token that fills up a batch; None if there is none. See `bos_token_id`."""
        return self._roles["pad"]

    @property
    def unk_token_id(self) -> int | None:
        """The id of what no token stands for; None if there is none. See `bos_token_id`."""
        return self._roles["unk"]

    @property
    def template(self) -> tuple[list[int], list[int]]:
        """The ids before a text and behind it, such as those of `<s>` and `</s>`.

        `encode_with_template` adds them; no other method does. A tokenizer.json says them. A sentencepiece model
        does not: they are its bos before a text and nothing behind it, as transformers' classes for such models
        have it, unless the `tokenizer_config.json` of its folder says otherwise (`add_bos_token` and
        `add_eos_token`).
        """
        single = self._templates.single
        at = single.index(TEXT)
        return [*single[:at]], [*single[at + 1 :]]

    def encode_with_template(self, text: Text, pair: Text | None = None) -> list[int]:
        """Encode a text, or two, with the ids that a model expects around them.

        The ids are those of `encode(text, pair, add_special_tokens=True)` in tokenizers: special tokens in the
        texts become their ids. Put the ids of texts that are not to be trusted into `template` yourself, as
        `encode_parts` gives them.

        Args:
            text: the text.
            pair: a second text, such as an answer to the first.

        Returns:
            One list of ids for both.

        >>> from fastbpe import Tokenizer
        >>> Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None).encode_with_template("ab", "c")
        [97, 98, 99]
        """
        texts = {TEXT: text} if pair is None else {TEXT: text, PAIR: pair}
        ids: list[int] = []
        for item in self._templates.single if pair is None else self._templates.pair:
            if item in texts:
                ids += self._encode_trusted(texts[item])
            else:
                ids.append(item)
        return ids

    @cached_property
    def _roles(self) -> Mapping[str, int | None]:
        said = self._said_roles()
        before, behind = self.template
        around = {"bos": before[:1], "eos": behind[-1:]}
        special = self._special_ids()
        found: dict[str, int | None] = {}
        for role in ROLES:
            named = (self._id_of_token(said[role]),) if role in said else ()
            known = (special.get(name) for name in KNOWN[role])
            ids = (i for i in (*named, *around.get(role, ()), *known) if i is not None)
            found[role] = next(ids, None)
        return found

    # A tokenizer answers these.

    @property
    def _templates(self) -> Templates:
        raise NotImplementedError

    def _said_roles(self) -> Mapping[str, str]:
        """The tokens of those roles that the file names."""
        raise NotImplementedError

    def _special_ids(self) -> Mapping[str, int]:
        raise NotImplementedError

    def _id_of_token(self, name: str) -> int | None:
        raise NotImplementedError

    def _encode_trusted(self, text: Text) -> list[int]:
        raise NotImplementedError
