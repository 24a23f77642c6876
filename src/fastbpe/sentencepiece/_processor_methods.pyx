"""Methods of a SentencePieceProcessor that are called often.

They handle the common kinds of arguments in compiled code. All other arguments go to methods of the derived class:
`_encode_any`, `_decode_any`, `_id_of`. Both ways give the same results.
"""

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.common.gil_yield cimport yield_gil_after, yield_gil_at
from fastbpe._core.common.python cimport (
    PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyBytes_AS_STRING, PyBytes_GET_SIZE, PyDict_GetItem,
    PyList_GET_SIZE, PyObject, PyObject_GetBuffer
)
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.encode.short_texts cimport PyUnicode_IS_COMPACT_ASCII, SHORT_UNITS
from fastbpe._core.ids.id_lists cimport hide, show_all
from fastbpe._core.text.utf8_text cimport first_invalid, has_surrogates
from fastbpe.sentencepiece._facts cimport PIECE, SCORE, Facts, _index

from fastbpe.model import PieceType
from fastbpe.tokenizer.families.codepoint_tables import EACH_BYTE as _EACH_BYTE
from fastbpe.errors import InvalidTokenError
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.sentencepiece._arguments import ids_of_pieces, items_of
from fastbpe.sentencepiece._threads import n_threads

cdef object EACH_BYTE = _EACH_BYTE

cdef int UNKNOWN = PieceType.UNKNOWN, CONTROL = PieceType.CONTROL, UNUSED = PieceType.UNUSED, BYTE = PieceType.BYTE


cdef inline bint _is_sound(object text) except -1:
    """Tell whether this is a plain str without surrogates, or plain bytes of UTF-8."""
    cdef size_t n
    if type(text) is str:
        return PyUnicode_IS_COMPACT_ASCII(<PyObject*> text) or not has_surrogates(text)
    if type(text) is not bytes:
        return False
    n = <size_t> PyBytes_GET_SIZE(text)
    return first_invalid(<const uint8_t*> PyBytes_AS_STRING(text), n) == n


@cython.final
cdef class VectorBuffer:
    """Read-only buffer of ids as in sentencepiece: int32, one dimension, in the owner's memory."""

    cdef Py_buffer _view
    cdef Py_ssize_t _shape[1]
    cdef Py_ssize_t _strides[1]

    def __cinit__(self, owner):
        PyObject_GetBuffer(owner, &self._view, PyBUF_SIMPLE)
        self._shape[0], self._strides[0] = self._view.len // 4, 4

    def __dealloc__(self):
        PyBuffer_Release(&self._view)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self._view.buf, self._shape[0] * 4, 1, flags)  # raises if asked to write
        view.itemsize = 4
        if view.format != NULL:
            view.format = b"i"
        if view.shape != NULL:
            view.shape = self._shape
        if view.strides != NULL:
            view.strides = self._strides

    def __releasebuffer__(self, Py_buffer* view):
        pass  # if this method exists, numpy uses a memoryview, as with sentencepiece's buffer

    def data_address(self):
        """Return the address of the first id."""
        return <size_t> self._view.buf


cdef class Methods:
    """Model and settings of a processor, and its methods that are called often.

    The constructor documents the settings.
    """

    cdef public object _return_type, _add_bos, _add_eos, _reverse, _emit_unk_piece
    cdef public object _enable_sampling, _nbest_size, _alpha, _num_threads
    cdef readonly Facts _model  # None until a model is loaded
    cdef Encoder _encoder  # encoder of the model; None without a model and for a word model

    def _use(self, Facts model):
        """Use a model from now on; None: no model."""
        with cython.critical_section(self):
            self._model = model
            self._encoder = None if model is None else model._encoder

    @cython.critical_section
    cdef Facts _used(self):
        """Return the model; None: no model. Another thread may load another one at any time."""
        return self._model

    @cython.critical_section
    cdef Encoder _used_encoder(self):
        """Return the encoder of the model."""
        return self._encoder

    # Encoding

    def encode(
        self, input, add_bos=None, add_eos=None, reverse=None, emit_unk_piece=None, enable_sampling=None,
        nbest_size=None, alpha=None, num_threads=None, thread_pool=None, return_type=None, out_type=None,
        return_bytes=None,
    ):
        """Encode a text, or a list of texts, to ids, pieces, or the type given by return_type or out_type.

        Args:
            input: str, bytes, or a list of them. Each invalid byte counts as U+FFFD.
            return_bytes: for an offset mapping: return pieces as bytes, and offsets in bytes; None: like the
                input.
            thread_pool: for a list, used instead of num_threads; for one text, without effect and unchecked.
            others: as in the constructor; None: the constructor's value.

        Raises:
            TypeError: the input has the wrong type, or a text in a list contains surrogates.
            RuntimeError: the text contains surrogates; no model is loaded; or add_bos, add_eos, reverse or
                emit_unk_piece is set for an offset mapping or a proto.
            ValueError: an argument contradicts another one, or is not possible with this model.

        >>> processor.encode("Hello world", add_bos=True)  # doctest: +SKIP
        [1, 15043, 3186]
        """
        cdef object out = None
        cdef Encoder encoder
        if nbest_size is None and alpha is None and thread_pool is None and return_bytes is None:
            if add_bos is None and add_eos is None and reverse is None and enable_sampling is None \
                    and num_threads is None and return_type is None and out_type is None and self._is_plain(input):
                encoder = self._used_encoder()
                if encoder is not None:
                    return encoder._to_list(input, None, None, None)
            if return_type is None or out_type is None:
                out = self._encoded(
                    input, add_bos, add_eos, reverse, emit_unk_piece, enable_sampling, num_threads,
                    out_type if return_type is None else return_type,
                )
        if out is None:
            out = self._encode_any(
                input, add_bos, add_eos, reverse, emit_unk_piece, enable_sampling, nbest_size, alpha, num_threads,
                thread_pool, return_type, out_type, return_bytes,
            )
        return out

    cdef bint _is_plain(self, object input):
        """Tell whether this is a short ASCII str, and the settings request only its ids."""
        return (
            type(input) is str and PyUnicode_IS_COMPACT_ASCII(<PyObject*> input) and len(input) <= SHORT_UNITS
            and self._return_type is int and self._add_bos is False and self._add_eos is False
            and self._reverse is False and self._enable_sampling is False and type(self._num_threads) is int
        )

    cdef object _encoded(
        self, object input, object add_bos, object add_eos, object reverse, object emit_unk_piece,
        object enable_sampling, object num_threads, object kind,
    ):
        """Encode a text or a list of texts to ids or pieces; None: `_encode_any` must do it."""
        cdef Facts model = self._used()
        cdef Encoder encoder = None if model is None else model._encoder
        cdef object first = None, last = None, threads = None, text
        cdef bint plain
        cdef size_t n_held = 0
        cdef list texts, outs, ids, results
        if kind is None:
            kind = self._return_type
        if add_bos is None:
            add_bos = self._add_bos
        if add_eos is None:
            add_eos = self._add_eos
        if reverse is None:
            reverse = self._reverse
        if emit_unk_piece is None:
            emit_unk_piece = self._emit_unk_piece
        if enable_sampling is None:
            enable_sampling = self._enable_sampling
        if num_threads is None:
            num_threads = self._num_threads
        if encoder is None or enable_sampling is not False or type(num_threads) is not int:
            return None
        if (kind is not int or emit_unk_piece is not True) and emit_unk_piece is not False:
            return None  # True changes pieces, but not ids
        plain = add_bos is False and add_eos is False and reverse is False
        if not plain:
            if not _are_flags(add_bos, add_eos, reverse):
                return None
            first, last = model._special_id(1) if add_bos else None, model._special_id(2) if add_eos else None
            if first == -1 or last == -1:
                return None
            if kind is not int:
                first, last = _named(model, first, kind), _named(model, last, kind)
        if kind is not int and kind is not str and kind is not bytes:
            return _array(encoder, input, num_threads) if plain and type(kind) is str and kind == "numpy" else None
        if type(input) is not list:
            if not _is_sound(input):
                return None
            if len(input) > SHORT_UNITS:  # a shorter text takes one thread in any case
                threads = _threads(num_threads)
            ids = encoder._to_list(input, None, None, threads)
            return _finished(model, ids, kind, plain, first, last, reverse)
        texts = list(input)
        for text in texts:
            if not _is_sound(text):
                return None
            yield_gil_after(<size_t> len(text) >> 8, &n_held)
        outs = encoder._to_lists(texts, None, None, _threads(num_threads))
        if kind is int and plain:
            return outs
        results = []
        hide(results)  # and its lists, until all are made: else the garbage collector would traverse them repeatedly
        for ids in outs:
            ids = _finished(model, ids, kind, plain, first, last, reverse)
            if ids is None:
                return None
            hide(ids)
            results.append(ids)
            yield_gil_after(<size_t> len(ids), &n_held)
        show_all(results)
        return results

    def encode_as_ids(self, input, **kwargs):
        """Encode like `encode`, to ids."""
        return self._encode_as(input, int, kwargs)

    def encode_as_pieces(self, input, **kwargs):
        """Encode like `encode`, to pieces."""
        return self._encode_as(input, str, kwargs)

    def encode_as_numpy(self, input, **kwargs):
        """Encode like `encode`, to a numpy array of int32."""
        return self._encode_as(input, "numpy", kwargs)

    cdef object _encode_as(self, object input, object kind, dict kwargs):
        cdef object out = None
        if not kwargs and type(self).Encode is ENCODE:
            out = self._encoded(input, None, None, None, None, None, None, kind)
        return self.Encode(input=input, return_type=kind, **kwargs) if out is None else out

    # Decoding

    def decode(
        self, input, return_type=None, out_type=None, num_threads=None, thread_pool=None, return_bytes=None
    ):
        """Decode ids or pieces to a text, or a list of these to a list of texts.

        Args:
            input: ids (a list, a numpy array, one int) or pieces (a list, one str or bytes); or a list or an array
                of these. Pieces given as bytes decode to bytes. A piece that is not in the vocabulary is text.
            return_type, out_type: `str` (the default), `bytes`, "offset_mapping" (a dict of text, ids, pieces and
                offsets), "serialized_proto", "proto".
            num_threads: as for `encode`.
            thread_pool: has no effect; its type is checked for a batch.
            return_bytes: for an offset mapping: return text and pieces as bytes, and offsets in bytes.

        Raises:
            IndexError: no piece has this id.
            TypeError: the input is neither ids nor pieces.
            KeyError: the input is a dict without the key 0.
            RuntimeError: no model is loaded, and the input is pieces or empty.
            ValueError: an argument contradicts another one, or there is no such return_type.

        >>> processor.decode([15043, 3186])  # doctest: +SKIP
        'Hello world'
        """
        cdef object out = None
        if thread_pool is None and return_bytes is None and (return_type is None or out_type is None):
            out = self._decoded(input, out_type if return_type is None else return_type, num_threads)
        if out is None:
            out = self._decode_any(input, return_type, out_type, num_threads, thread_pool, return_bytes)
        return out

    cdef object _decoded(self, object input, object kind, object num_threads):
        """Decode ids or pieces, or a list of lists; None: `_decode_any` must do it."""
        cdef Facts model = self._used()
        cdef object decoder, item, element
        cdef list batch, lists
        cdef size_t n_held = 0
        if num_threads is None:
            num_threads = self._num_threads
        if kind is not None and kind is not str and kind is not bytes:
            return None
        if model is None or type(num_threads) is not int:
            return None
        decoder = model._ready_decoder()
        if decoder is None:
            return None
        if type(input) is not list:
            if type(input) is not int and (type(input) is not str and type(input) is not bytes or not len(input)):
                return None
            input = [input]
        elif PyList_GET_SIZE(input) == 0:
            return None
        item = input[0]  # not typed as a list: Cython would borrow the item, which another thread may free
        try:
            if type(item) is not list:
                if type(item) is not int:
                    input = model._ids_of(input, type(item)) if type(item) is str or type(item) is bytes else None
                    if input is None:
                        return None
                text = decoder.decode(input, EACH_BYTE, _threads(num_threads))
                return text.encode() if kind is bytes or type(item) is bytes else text
            batch, element = list(input), None
            for item in batch:
                if type(item) is not list:
                    return None
                if element is None and PyList_GET_SIZE(item):
                    element = type(<object> item[0])
            if element is str or element is bytes:
                lists = []
                for item in batch:
                    item = model._ids_of(item, element)
                    if item is None:
                        return None
                    lists.append(item)
                    yield_gil_after(<size_t> len(item), &n_held)
                batch = lists
            elif element is not int:
                return None
            batch = decoder.decode_batch(batch, EACH_BYTE, _threads(num_threads))
        except (InvalidTokenError, TypeError):
            return None
        if kind is not bytes and element is not bytes:
            return batch
        lists = []
        for text in batch:
            lists.append(text.encode())
            yield_gil_after(<size_t> len(text) >> 8, &n_held)
        return lists

    def decode_ids(self, input, return_type=None, **kwargs):
        """Decode like `decode`."""
        return self._decode_as(input, return_type, kwargs)

    def decode_pieces(self, input, return_type=None, **kwargs):
        """Decode like `decode`."""
        return self._decode_as(input, return_type, kwargs)

    cdef object _decode_as(self, object input, object kind, dict kwargs):
        cdef object out = None
        if not kwargs and type(self).Decode is DECODE:
            out = self._decoded(input, kind, None)
        return self.Decode(input=input, return_type=kind, **kwargs) if out is None else out

    # Pieces

    def get_piece_size(self):
        """Return the number of pieces; 0 without a model."""
        cdef Facts model = self._used()
        return 0 if model is None else model._n_pieces

    def piece_to_id(self, piece):
        """Return the id of a piece (str or bytes), or a list for several; an unknown piece has `<unk>`'s id."""
        cdef PyObject* found = NULL
        cdef Facts model = self._used()
        if isinstance(piece, (str, bytes, bytearray)):
            if type(piece) is str and model is not None:
                found = PyDict_GetItem(model._by_name(), piece)  # borrowed from a dict that never changes
            return self._id_of(piece) if found == NULL else <object> found
        cdef list ids = []
        cdef size_t i
        for i, item in enumerate(items_of(piece)):
            yield_gil_at(i)
            found = NULL
            if type(item) is str and model is not None:
                found = PyDict_GetItem(model._by_name(), item)
            ids.append(self._id_of(item) if found == NULL else <object> found)
        return ids

    def id_to_piece(self, id):
        """Return the piece of an id, or of several. Raises IndexError for an id that no piece has."""
        return self._fact(id, PIECE)

    def get_score(self, id):
        """Return the score of an id, or of several. In a BPE model, the highest score merges first."""
        return self._fact(id, SCORE)

    def is_unknown(self, id):
        """Tell whether an id is the id of the unknown piece; a list for several ids."""
        return self._fact(id, UNKNOWN)

    def is_control(self, id):
        """Tell whether an id belongs to a control symbol; a list for several ids."""
        return self._fact(id, CONTROL)

    def is_unused(self, id):
        """Tell whether an id belongs to an unused piece; a list for several ids."""
        return self._fact(id, UNUSED)

    def is_byte(self, id):
        """Tell whether an id belongs to a byte piece; a list for several ids."""
        return self._fact(id, BYTE)

    cdef object _fact(self, object id, int fact):
        cdef Facts model = self._used()
        cdef Py_ssize_t i
        cdef list facts = None
        if model is not None:
            model._prepare_fact(fact)
            if type(id) is list:
                facts = model._facts(id, fact)
                if facts is not None:
                    return facts
            i = _index(id)
            if 0 <= i < model._n_pieces:
                return model._fact(i, fact)
        is_one, ids = ids_of_pieces(id, 0 if model is None else model._n_pieces)
        if not ids:
            return []
        facts = model._facts(ids, fact)
        return facts[0] if is_one else facts

    cdef Py_ssize_t _special_id(self, Py_ssize_t which) except -2:
        cdef Facts model = self._used()
        return -1 if model is None else model._special_id(which)

    def unk_id(self):
        """Return the id of `<unk>`; -1 if the model lacks it."""
        return self._special_id(0)

    def bos_id(self):
        """Return the id of `<s>`; -1 if the model lacks it."""
        return self._special_id(1)

    def eos_id(self):
        """Return the id of `</s>`; -1 if the model lacks it."""
        return self._special_id(2)

    def pad_id(self):
        """Return the id of `<pad>`; -1 if the model lacks it."""
        return self._special_id(3)


cdef object ENCODE = Methods.encode, DECODE = Methods.decode


cdef inline bint _are_flags(object a, object b, object c):
    return (a is True or a is False) and (b is True or b is False) and (c is True or c is False)


cdef inline object _threads(object num_threads):
    """Return the number of threads in the form that the core accepts."""
    return None if num_threads < 0 else n_threads(num_threads)


cdef object _array(Encoder encoder, object text, object num_threads):
    """Return the ids of a text as a read-only numpy array; None: `_encode_any` must do it."""
    if not _is_sound(text):
        return None
    numpy = require_numpy("return_type='numpy'")
    ids = encoder._encode_to_array((text,), frozenset(), (), _threads(num_threads))[0]
    return numpy.frombuffer(VectorBuffer(ids), dtype=numpy.int32)


cdef object _named(Facts model, object id, object kind):
    """Return the piece of an id, as str or as bytes; None for None."""
    if id is None:
        return None
    return model._all_names()[id] if kind is str else model.piece_bytes[id]


cdef inline list _finished(
    Facts model, list ids, object kind, bint plain, object first, object last, object reverse
):
    """Return ids, or their pieces, reversed if requested, between `first` and `last`.

    Returns None if the pieces are wanted and `_pieces_of` returns None.
    """
    if kind is not int:
        ids = model._pieces_of(ids, kind is bytes)
        if ids is None:
            return None
    return ids if plain else model._around(ids, first, last, reverse is True)
