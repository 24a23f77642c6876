"""Frame of ids that the post-processor of a `tokenizers.Tokenizer` puts around one text or two."""

from __future__ import annotations

from typing import Any

from fastbpe.huggingface.frames import Frame, frame_of
from fastbpe.transformers._original import tokenizers

_PROBE = "a"


def find_frame(tokenizer: Any, *, pair: bool, add_special_tokens: bool) -> Frame | None:
    """Find the frame by processing a probe.

    Args:
        tokenizer: a `tokenizers.Tokenizer`; it is not changed.
        pair: find the frame for two texts.
        add_special_tokens: as in its `encode`.

    Returns:
        None if the frame depends on the texts, or has a text twice or not at all.
    """
    bare: Any = tokenizers.Tokenizer(tokenizer.model)
    if tokenizer.post_processor is not None:
        bare.post_processor = tokenizer.post_processor
    probe = bare.encode(_PROBE, add_special_tokens=False).ids
    [encoding] = bare.encode_batch([(_PROBE, _PROBE) if pair else _PROBE], add_special_tokens=add_special_tokens)
    frame = frame_of(encoding, pair=pair, n_probe=len(probe))
    if frame is not None and add_special_tokens and tokenizer.num_special_tokens_to_add(pair) != frame.n_added:
        return None
    return frame
