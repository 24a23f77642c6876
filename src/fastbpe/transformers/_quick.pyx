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

cdef str ENGINE = engines.ENGINE
cdef list EPOCH = watching.EPOCH
cdef object new = object.__new__


def encode_text(hf, cls, str text, adds_special):
    engine = ready_engine(hf, cls)
    found = None if engine is None else ready(hf, engine, adds_special)
    ids = None if found is None else ids_of(hf, found, text)
    if ids is not None:
        engine.n_plain += 1
    return ids


def call_plain(hf, cls, text):
    cdef list rows, texts
    cdef dict columns
    engine = ready_engine(hf, cls)
    found = None if engine is None else ready(hf, engine, True)
    if found is None or "attention_mask" not in hf.model_input_names:
        return None
    has_types = "token_type_ids" in hf.model_input_names
    if type(text) is str:
        texts, rows = [text], ids_of(hf, found, text)
    elif type(text) is list:
        texts, rows = [*text], rows_of(hf, found, text)
    else:
        return None
    if rows is None:
        return None
    columns = {"input_ids": rows}
    if type(text) is str:
        if has_types:
            columns["token_type_ids"] = types_of((<tuple>found)[1], len(rows))
        columns["attention_mask"] = [1] * len(rows)
    else:
        if has_types:
            columns["token_type_ids"] = [types_of((<tuple>found)[1], len(<list>ids)) for ids in rows]
        columns["attention_mask"] = [[1] * len(<list>ids) for ids in rows]
    made = new(batch_encoding())
    made.data = columns
    made._encodings = LazyEncodings((engine.twin(), texts), len(texts))  # encoded again only if a program reads it
    made._n_sequences = 1
    engine.n_plain += 1
    return made


cdef ready_engine(hf, cls):
    """Return the engine of a tokenizer; None if it waits, or `_encode_plus` is overridden."""
    cdef dict fields = hf.__dict__
    if type(hf) is not cls or "_encode_plus" in fields:
        return None
    engine = fields.get(ENGINE)
    if engine is None or engine.original is not fields.get("_tokenizer"):
        engine = engines.engine_of(hf)
    return None if engine.waits else engine


cdef list ids_of(hf, tuple found, str text):
    """Encode a text, without truncation and padding. Returns None if it has a lone surrogate."""
    cdef list ids
    if not (text.isascii() or are_texts((text,))):
        return None
    tokenizer, frame = found
    ids = tokenizer.encode(text, allowed_special="all")
    if frame.n_added:
        put_frame(ids, frame)
    if len(ids) > hf.model_max_length:
        warn_of_long(hf, [ids], None, True)
    return ids


cdef list rows_of(hf, tuple found, list texts):
    """Encode a list of texts, as `ids_of` does."""
    cdef list rows
    if not texts or not are_texts(texts):
        return None
    tokenizer, frame = found
    rows = tokenizer.encode_batch(texts, allowed_special="all")
    if frame.n_added:
        for ids in rows:
            put_frame(ids, frame)
    if max(map(len, rows)) > hf.model_max_length:
        warn_of_long(hf, rows, None, True)
    return rows


cdef list types_of(frame, Py_ssize_t n):
    """Return the type id of each of the n ids of a text in its frame."""
    cdef list types = []
    for item in <tuple>frame.items:
        types += [item.type_id] * (len(item.ids) if item.sequence is None else n - frame.n_added)
    return types


cdef tuple ready(hf, engine, adds_special):
    """Return the results of `Engine.ready` and `Engine.frame` for one text, but faster.

    None: either is None, or the original has settings of the last call.
    """
    cdef tuple found
    original = engine.original
    if (
        original.truncation is not None
        or original.padding is not None
        or original.encode_special_tokens is not False
        or (<dict>hf.__dict__).get("split_special_tokens") is not False
    ):
        return None
    kept, epoch = engine.plain, EPOCH[0]
    # If it is still the same post-processor object, the tables and the twin belong to this state.
    if kept.epoch == epoch and kept.n_changes == engine.n_changes[0] and kept.post is engine._post:
        found = (<dict>kept.found).get(adds_special)
        if found is not None:
            return found
    try:
        parts, n_changes = read_parts(original), engine.n_changes[0]
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
        if engine.n_changes[0] != n_changes or read_parts(original) != parts:
            return found  # another thread changed the original meanwhile
    others = kept.found if kept[1:4] == (parts, n_changes, engine._post) else {}
    engine.plain = engines.Plain(epoch, parts, n_changes, engine._post, {**others, adds_special: found})
    return found
