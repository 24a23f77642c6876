"""Vocabularies of ESM, whose tokens are mostly amino acids: `vocab.txt`.

transformers runs EsmTokenizer in Python. It finds every token of the file anywhere in a text, and each other word
between white space becomes the unknown token. This module describes both as a tokenizer.json, which
`read_segmented` reads. tests/conformance/test_esm_folders.py compares folders with transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe.formats import limits
from fastbpe.formats.atomic_files import as_text, map_file
from fastbpe.formats.huggingface import python_backend, read_segmented, tokenizer_config
from fastbpe.formats.huggingface.step_json import split
from fastbpe.formats.huggingface.write import write_document
from fastbpe.formats.piece_folders import as_template
from fastbpe.model import AddedToken, CodePointModel, Model

_ROLES = {"unk": "<unk>", "cls": "<cls>", "pad": "<pad>", "mask": "<mask>", "eos": "<eos>"}
#: White space of Python's str.split, with which the class ends words.
_SPACES = split(r"[\s\x1c-\x1f]+", "Removed")


def read(folder: str, path: str, special_tokens: Mapping[str, int] | None = None) -> Model | CodePointModel:
    """Read the model of a folder of ESM.

    Raises:
        FormatError: a damaged file, or one that the class cannot read, or that fastbpe cannot express.
    """
    fail = python_backend.failing(path)
    named = python_backend.read_named(folder, _ROLES)
    lines = [line.strip() for line in as_text(map_file(path), path).splitlines()]
    limits.check_added_tokens(len(lines), path)
    vocab = {token: i for i, token in enumerate(lines)}
    odd = next((token for token in lines if not token or token.split() != [token]), None)
    if odd is not None or len(vocab) < len(lines):
        fail("each line must have a different token, without white space")
    added = {token.id: token for token in python_backend.added_tokens(named, vocab, fail)}
    ids = {**vocab, **{token.content: i for i, token in added.items()}}
    if (unknown := named.roles.get("unk", "")) not in vocab:
        fail(f"it lacks the unk_token {unknown!r:.60}")
    found = [added.get(i) or AddedToken(token, i) for token, i in sorted(ids.items(), key=lambda item: item[1])]
    if [token.id for token in found] != [*range(len(found))]:
        fail("the ids of added tokens do not follow the ids of the lines")

    def token(role: str) -> tuple[str, int]:
        content = named.roles.get(role, "")
        if content not in ids:
            fail(f"the class EsmTokenizer puts the {role} token around texts, but no file names one")
        return content, ids[content]

    described = write_document(
        added_tokens=found,
        normalizer=None,
        pre_tokenizer=_SPACES,
        decoder=None,
        post_processor=as_template(("cls $A eos", "cls $A eos $B:1 eos:1"), token),
        type="WordLevel",
        unk_token=unknown,
        vocab=vocab,
    )
    model = read_segmented.parse(described, path, special_tokens=special_tokens)
    assert model is not None
    model = model._replace(roles={**model.roles, **named.roles})
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)
