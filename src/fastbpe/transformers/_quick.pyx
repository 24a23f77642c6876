"""Fast path for calls without options, compiled: Python code would take three times as long as the encoding.

encode_text(hf, cls, text, adds_special)    the ids of a text, or None
call_plain(hf, cls, text)                   the BatchEncoding of a text or of a list of texts, or None

hf is an accelerated tokenizer; cls, the class that `classes` made for it; adds_special, add_special_tokens of the
call. None: the slow path must handle the call, because it undoes settings of the last call, for example, or
because a subclass or the object itself overrides `_encode_plus`.
"""

from fastbpe.huggingface.columns import put_frame
from fastbpe.huggingface.inputs import are_texts
from fastbpe.transformers.encode_plus import batch_encoding, warn_of_long
from fastbpe.transformers.encodings import LazyEncodings
from fastbpe.transformers import engine as engines, watching
from fastbpe.transformers.snapshot import read_parts

# Tried and dropped: masks that the core makes, of several ints of value 1, so that freeing a mask does not wait
# for one reference count: no certain gain. Ids that the core puts into the frame: no certain gain either.

cdef list NAMES = ["input_ids", "attention_mask"]
cdef str ENGINE = engines.ENGINE
cdef list EPOCH = watching.EPOCH
cdef object new = object.__new__


def encode_text(hf, cls, text, adds_special):
    engine = ready_engine(hf, cls)
    return None if engine is None else ids_of(hf, engine, text, adds_special)


def call_plain(hf, cls, text):
    cdef list rows
    engine = ready_engine(hf, cls)
    if engine is None or hf.model_input_names != NAMES:
        return None
    if type(text) is str:
        rows = ids_of(hf, engine, text, True)
        if rows is None:
            return None
        return encoded(engine, rows, [1] * len(rows), [text])
    if type(text) is list:
        rows = rows_of(hf, engine, text)
        if rows is None:
            return None
        return encoded(engine, rows, [[1] * len(<list>ids) for ids in rows], [*text])
    return None


cdef ready_engine(hf, cls):
    """Return the engine of a tokenizer; None if it waits, or `_encode_plus` is overridden."""
    cdef dict fields = hf.__dict__
    if type(hf) is not cls or "_encode_plus" in fields:
        return None
    engine = fields.get(ENGINE)
    if engine is None or engine.original is not fields.get("_tokenizer"):
        engine = engines.engine_of(hf)
    return None if engine.waits else engine


cdef list ids_of(hf, engine, str text, adds_special):
    """Encode a text, without truncation and padding. Returns None if the slow path must handle the call."""
    cdef list ids
    if has_settings(hf, engine.original) or not (text.isascii() or are_texts((text,))):
        return None
    found = plain(engine, adds_special)
    if found is None:
        return None
    tokenizer, frame = <tuple>found
    ids = tokenizer.encode(text, allowed_special="all")
    if frame.n_added:
        put_frame(ids, frame)
    if len(ids) > hf.model_max_length:
        warn_of_long(hf, [ids], None, True)
    engine.n_plain += 1
    return ids


cdef list rows_of(hf, engine, list texts):
    """Encode a list of texts, as `ids_of` does."""
    cdef list rows
    if not texts or has_settings(hf, engine.original) or not are_texts(texts):
        return None
    found = plain(engine, True)
    if found is None:
        return None
    tokenizer, frame = <tuple>found
    rows = tokenizer.encode_batch(texts, allowed_special="all")
    if frame.n_added:
        for ids in rows:
            put_frame(ids, frame)
    if max(map(len, rows)) > hf.model_max_length:
        warn_of_long(hf, rows, None, True)
    engine.n_plain += 1
    return rows


cdef plain(engine, adds_special):
    """Return the results of `Engine.ready` and `Engine.frame` for one text, but faster; None if either is None."""
    cdef tuple found
    kept, epoch = engine.plain, EPOCH[0]
    # If it is still the same post-processor object, the tables and the twin belong to this state.
    if kept.epoch == epoch and kept.n_changes == engine.n_changes[0] and kept.post is engine._post:
        found = (<dict>kept.found).get(adds_special)
        if found is not None:
            return found
    try:
        parts, n_changes = read_parts(engine.original), engine.n_changes[0]
    except Exception:
        return None
    is_same = kept.parts == parts and kept.n_changes == n_changes and kept.post is engine._post
    found = (<dict>kept.found).get(adds_special) if is_same else None
    if found is None:
        tokenizer = engine.ready()
        frame = engine.frame(pair=False, add_special_tokens=adds_special)
        if tokenizer is None or frame is None:
            return None
        found = tokenizer, frame
        if engine.n_changes[0] != n_changes or read_parts(engine.original) != parts:
            return found  # another thread changed the original meanwhile
    others = kept.found if kept[1:4] == (parts, n_changes, engine._post) else {}
    engine.plain = engines.Plain(epoch, parts, n_changes, engine._post, {**others, adds_special: found})
    return found


cdef bint has_settings(hf, original) except -1:
    return (
        original.truncation is not None
        or original.padding is not None
        or original.encode_special_tokens is not False
        or (<dict>hf.__dict__).get("split_special_tokens") is not False
    )


cdef encoded(engine, list ids, list mask, list texts):
    """Return a BatchEncoding. The texts are encoded again only if a program reads its encodings."""
    made = new(batch_encoding())
    made.data = {"input_ids": ids, "attention_mask": mask}
    made._encodings = LazyEncodings((engine.twin(), texts), len(texts))
    made._n_sequences = 1
    return made
