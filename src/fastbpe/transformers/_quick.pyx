"""Short calls, compiled: in Python, the checks around a short text would take longer than its encoding.

encode_text(hf, cls, text, adds_special)    the ids of a text, or None
tokens_of(hf, cls, text, adds_special)      the tokens of a text, or None
call_plain(hf, cls, text)                   the BatchEncoding of a text or of a list of texts, or None
call_known(hf, cls, text, options)          the same for a text, with options that an earlier call had, or None
encode_known(hf, cls, text, options)        the same for the options of `_encode_plus`

hf is an accelerated tokenizer; cls, the class that `classes` made for it; adds_special, add_special_tokens of the
call. None: the slow path must handle the call, because it undoes settings of the last call, for example, or
because a subclass or the object itself overrides `_encode_plus`.
"""

from fastbpe.huggingface.columns import padded_length, put_frame
from fastbpe.huggingface.inputs import are_texts
from fastbpe.huggingface.rows import Plan
from fastbpe.transformers.encode_plus import key_of, set_up, warn_of_long
from fastbpe.transformers.encodings import LazyEncodings
from fastbpe.transformers.readings import batch_encoding
from fastbpe.transformers import encode_plus, engine as engines, watching

# Tried and dropped, without a certain gain: masks that the core makes of several int objects of value 1, so that
# freeing a mask does not wait for a single reference count; and frames that the core fills with the ids.

cdef str ENGINE = engines.ENGINE
cdef list EPOCH = watching.EPOCH
cdef Py_ssize_t SHORT = encode_plus.SHORT
cdef object new = object.__new__


def encode_text(hf, cls, str text, adds_special):
    engine = ready_engine(hf, cls)
    found = None if engine is None else ready(hf, engine, adds_special)
    ids = None if found is None else ids_of(hf, found, text)
    if ids is not None:
        engine.n_plain += 1
    return ids


def tokens_of(hf, cls, str text, adds_special):
    cdef list tokens, ids, made = []
    engine = ready_engine(hf, cls)
    found = None if engine is None else ready(hf, engine, adds_special)
    if found is None or not (text.isascii() or are_texts((text,))):
        return None
    tokenizer, frame, tokens_by_id, _, _ = <tuple>found
    ids = tokenizer.encode(text, allowed_special="all")
    if len(ids) + frame.n_added > hf.model_max_length:
        return None  # the slow path warns
    try:
        tokens = [tokens_by_id[token_id] for token_id in ids]
    except KeyError:
        return None
    engine.n_plain += 1
    if not frame.n_added:
        return tokens
    for item in <tuple>frame.items:
        made += tokens if item.sequence is not None else item.tokens
    return made


def call_plain(hf, cls, text):
    cdef list input_ids, texts  # input_ids: the ids of the text, or a list of ids for each text
    cdef dict columns
    engine = ready_engine(hf, cls)
    found = None if engine is None else ready(hf, engine, True)
    if found is None or "attention_mask" not in hf.model_input_names:
        return None
    _, frame, _, plan, epoch = <tuple>found
    has_types = "token_type_ids" in hf.model_input_names
    if type(text) is str:
        texts, input_ids = [text], ids_of(hf, found, text)
    elif type(text) is list:
        texts, input_ids = [*text], rows_of(hf, found, text)
    else:
        return None
    if input_ids is None:
        return None
    columns = {"input_ids": input_ids}
    if type(text) is str:
        if has_types:
            columns["token_type_ids"] = types_of(frame, len(input_ids))
        columns["attention_mask"] = [1] * len(input_ids)
    else:
        if has_types:
            columns["token_type_ids"] = [types_of(frame, len(<list>ids)) for ids in input_ids]
        columns["attention_mask"] = [[1] * len(<list>ids) for ids in input_ids]
    made = new(batch_encoding())
    made.data = columns
    facts = engine, epoch, engine.twin(), plan, texts, True  # as in encodings._Texts
    made._encodings = LazyEncodings(facts, len(texts))  # encoded again only if a program reads it
    made._n_sequences = 1
    engine.n_plain += 1
    return made


def call_known(hf, cls, text, dict options):
    engine = ready_engine(hf, cls)
    if engine is None or type(text) is not str:
        return None
    known = known_for(engine.whole_calls, options)
    if known is None:
        return None
    repeat, truncation_side, max_length = <tuple>known
    if (
        hf.truncation_side != truncation_side
        or hf.model_max_length != max_length
        or (<dict>hf.__dict__).get("split_special_tokens") is not False
        or not is_set_up(engine.original, repeat)
    ):
        return None
    return repeated(hf, engine, repeat, text)


def encode_known(hf, cls, str text, dict options):
    engine = ready_engine(hf, cls)
    repeat = None if engine is None else known_for(engine.repeats, options)
    if repeat is None:
        return None
    with engine.settings_lock:
        set_up(hf, engine.original, repeat.call)
        if not is_set_up(engine.original, repeat):  # as after a change of hf.truncation_side
            return None
    return repeated(hf, engine, repeat, text)


cdef known_for(dict kept, dict options):
    """Return the facts that `encode_plus` has kept for these options, or None."""
    if not kept:
        return None
    try:
        return kept.get(key_of(options))
    except TypeError:  # an option that has no hash
        return None


cdef bint is_set_up(original, repeat) except -1:
    """Tell whether the original has the settings that it had in the call that found `repeat`."""
    plan = repeat.plan
    return (
        original.truncation == plan.settings
        and original.padding == plan.padding
        and original.encode_special_tokens is False
    )


cdef repeated(hf, engine, repeat, str text):
    """Encode a text like the call that found `repeat`. Returns None if the slow path must handle the call."""
    cdef dict columns
    cdef list ids, spans
    cdef Py_ssize_t n, n_pads = 0
    epoch, call, plan, wanted, offsets, names = <tuple>repeat
    if epoch is not EPOCH[0] or hf.model_input_names != names:
        return None
    if len(text) > SHORT or not (text.isascii() or are_texts((text,))):
        return None  # for a long text, the slow path may build arrays, or encode only the part that truncation keeps
    tokenizer, frame, settings, padding, truncation, _ = <tuple>plan
    spans = None
    if offsets is None:
        ids = tokenizer.encode(text, allowed_special="all")
    else:
        (ids,), (spans,) = offsets.encode([text])
    if truncation is not None and len(ids) > truncation.limit:
        if truncation.strategy == "only_second":
            return None  # an error: there is no second text
        cut = slice(len(ids) - truncation.limit, None) if truncation.left else slice(truncation.limit)
        ids = ids[cut]
        spans = None if spans is None else spans[cut]
    put_frame(ids, frame)
    n = len(ids)
    if padding is not None:
        n_pads = max(padded_length((n,), padding) - n, 0)
        pad, pad_type, is_left = padding["pad_id"], padding["pad_type_id"], padding["direction"] == "left"
    else:
        pad, pad_type, is_left = 0, 0, False
    columns = {"input_ids": padded(ids, pad, n_pads, is_left)}
    if wanted.type_ids:
        columns["token_type_ids"] = padded(types_of(frame, n), pad_type, n_pads, is_left)
    if wanted.attention_mask:
        columns["attention_mask"] = padded([1] * n, 0, n_pads, is_left)
    if wanted.special_mask:
        columns["special_tokens_mask"] = padded(in_frame(frame, n), 1, n_pads, is_left)
    if spans is not None:
        spans = [(0, 0)] * len(frame.before) + spans + [(0, 0)] * len(frame.behind)
        columns["offset_mapping"] = padded(spans, (0, 0), n_pads, is_left)
    if wanted.length:
        columns["length"] = n + n_pads
    if call["max_length"] is None and n + n_pads > hf.model_max_length:
        warn_of_long(hf, [columns["input_ids"]], None, call["verbose"])

    encodings = LazyEncodings((engine, epoch, engine.twin(), plan, [text], call["add_special_tokens"]), 1)
    engine.n_plain += 1
    if call["return_tensors"] is not None:
        columns = {name: [column] for name, column in columns.items()}
        return batch_encoding()(columns, encodings, tensor_type=call["return_tensors"], n_sequences=1)
    if wanted.length:
        columns["length"] = [columns["length"]]  # as in transformers: a list, although there is no batch dimension
    made = new(batch_encoding())
    made.data, made._encodings, made._n_sequences = columns, encodings, 1
    return made


cdef list padded(list column, pad, Py_ssize_t n_pads, is_left):
    """Return a column with n_pads times `pad` at its start (is_left) or end."""
    if not n_pads:
        return column
    return [pad] * n_pads + column if is_left else column + [pad] * n_pads


cdef ready_engine(hf, cls):
    """Return the engine of a tokenizer; None if it waits, or if `_encode_plus` may be overridden."""
    cdef dict fields = hf.__dict__
    if type(hf) is not cls or "_encode_plus" in fields:
        return None
    engine = fields.get(ENGINE)
    if engine is None or engine.original is not fields.get("_tokenizer"):
        engine = engines.engine_of(hf)
    return None if engine.waits else engine


cdef list ids_of(hf, tuple found, str text):
    """Return the ids of a text in its frame, without truncation and padding; None if it has a lone surrogate.

    found: result of `ready`.
    """
    cdef list ids
    if not (text.isascii() or are_texts((text,))):
        return None
    tokenizer, frame, _, _, _ = found
    ids = tokenizer.encode(text, allowed_special="all")
    if frame.n_added:
        put_frame(ids, frame)
    if len(ids) > hf.model_max_length:
        warn_of_long(hf, [ids], None, True)
    return ids


cdef list rows_of(hf, tuple found, list texts):
    """Encode a list of texts, as `ids_of` does. Returns None for an empty list, too."""
    cdef list rows
    if not texts or not are_texts(texts):
        return None
    tokenizer, frame, _, _, _ = found
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


cdef list in_frame(frame, Py_ssize_t n):
    """Return 1 for each id of the frame, 0 for each id of the text; n: number of both."""
    cdef list made = []
    for item in <tuple>frame.items:
        made += [1] * len(item.ids) if item.sequence is None else [0] * (n - frame.n_added)
    return made


cdef tuple ready(hf, engine, adds_special):
    """Return (tokenizer, frame for one text, tokens of ids, plan of a call, the EPOCH[0] for which these hold).

    Returns None if fastbpe does not support the original or finds no frame, if the original has settings of the
    last call, or if special tokens are to be split.
    """
    original = engine.original
    if (
        original.truncation is not None
        or original.padding is not None
        or original.encode_special_tokens is not False
        or (<dict>hf.__dict__).get("split_special_tokens") is not False
    ):
        return None
    now = EPOCH[0]
    then, known = <tuple>engine.plain
    if then is not now:
        known = {}
    found = (<dict>known).get(adds_special)
    if found is None:
        tokenizer = engine.ready()
        frame = engine.frame(pair=False, add_special_tokens=adds_special)
        if EPOCH[0] is not now:  # making tables and trying a post-processor set components
            return ready(hf, engine, adds_special)
        if tokenizer is not None and frame is not None:
            plan = Plan(tokenizer, frame, None, None, None, False)
            found = tokenizer, frame, engines.Tokens(original, tokenizer.unk_token_id), plan, now
            engine.plain = now, {**known, adds_special: found}
    return found
