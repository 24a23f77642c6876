"""Methods of an Encoding that are called often, with tiktoken's names and arguments, close to the core."""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.common.gil_yield cimport yield_gil_after, yield_gil_at, yield_gil_if_due
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.merge.merge_piece cimport encode_piece
from fastbpe._core.ids.id_lists cimport ids_list
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.merge.vocabulary cimport Vocabulary

import operator
from functools import partial
from math import ceil

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._core.merge.vocabulary import MAX_IDS as _MAX_IDS
from fastbpe.errors import InvalidTokenError, SpecialTokenError, VocabularyError
from fastbpe._utils.optional_imports import require_numpy
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.threads import usable_cores, usable_threads

cdef object NOTHING = Encoder.encode.__kwdefaults__["allowed_special"]  # the core compares it by identity
cdef str ALL = "all"
cdef int DEFAULT_THREADS = 8  # tiktoken's num_threads
cdef bint DEFAULT_IS_ALL_CORES = usable_cores() <= DEFAULT_THREADS

cdef enum:
    NOGIL_BYTES = 1 << 13  # shortest piece, in bytes, for which releasing the GIL pays


def tokens_by_rank(ranks):
    """Return the token of each rank; b"" if no token has the rank.

    Raises:
        VocabularyError: a token that is not bytes or is empty, or a rank that is out of range or appears twice.
    """
    cdef list tokens
    cdef object n_ids = max(ranks.values(), default=-1) + 1
    if not 0 < n_ids <= _MAX_IDS:
        if not ranks:
            raise VocabularyError("mergeable_ranks must contain a token that is not empty")
        if n_ids <= 0:
            raise VocabularyError(f"mergeable_ranks: the rank {n_ids - 1} must not be negative")
        raise VocabularyError(f"mergeable_ranks: the rank {n_ids - 1} is too large; the limit is {_MAX_IDS - 1}")
    tokens = [b""] * n_ids
    for token, rank in ranks.items():
        if not isinstance(token, bytes) or not token:
            raise VocabularyError(f"token {token!r} must be non-empty bytes")
        if rank < 0:
            raise VocabularyError(f"token {token!r} has the rank {rank}, but ranks must not be negative")
        if tokens[rank]:
            raise VocabularyError(f"tokens {tokens[rank]!r} and {token!r} have the same rank {rank}")
        tokens[rank] = token
    return tokens


def ranks_of_tables(bytes token_bytes not None, bytes token_ends not None):
    """Return token → rank.

    Args:
        token_bytes: bytes of all tokens, end to end.
        token_ends: uint32, the end of the token of each rank in token_bytes; the end of the token before it if no
            token has the rank.

    Requires: the ends never fall, and the last is not beyond token_bytes; this is not checked.
    """
    cdef const char* data = PyBytes_AS_STRING(token_bytes)
    cdef const uint32_t* ends = <const uint32_t*> PyBytes_AS_STRING(token_ends)
    cdef uint32_t start = 0, rank
    cdef dict ranks = {}
    for rank in range(<uint32_t> (len(token_ends) // sizeof(uint32_t))):
        if ends[rank] > start:
            ranks[data[start:ends[rank]]] = rank
            start = ends[rank]
    return ranks


cdef class Methods(Encoder):
    """Encode like `Encoder` and decode like `Decoder`, with tiktoken's arguments and errors.

    Args:
        vocabulary: the tokens and their ranks.
        splitter: cuts text into pieces.
        decoder: has the bytes of every id.
        special: chooses matchers of special tokens, as for `Encoder`.
    """

    cdef object _decoder, _own_class
    _own = None  # see `Encoding._own`; None: no method is replaced

    def __init__(self, Vocabulary vocabulary not None, Splitter splitter not None, decoder, special):
        Encoder.__init__(self, vocabulary, splitter, special=special)
        self._decoder = decoder
        self._own_class = self._own

    cdef tuple _chosen(self, object allowed, object disallowed):
        """Return matchers of the special tokens that a call allows, and that it forbids; None: no tokens."""
        allowed, disallowed = self._names(allowed, disallowed)
        return self._matchers(allowed, disallowed)

    cdef tuple _names(self, object allowed, object disallowed):
        """Return the arguments as `SpecialTokens.choose` takes them; each is "all" or a set.

        Raises:
            TypeError: a type that tiktoken refuses.
            UnicodeEncodeError: an allowed name with a surrogate.
            ValueError: an iterator without names, which tiktoken refuses, too.
        """
        cdef frozenset known = self._special.set
        if not isinstance(allowed, (set, frozenset)) and not allowed == ALL:
            raise TypeError(f'allowed_special={short_repr(allowed)}: pass "all" or a set of special tokens')
        if allowed is not NOTHING and not isinstance(allowed, str):
            allowed = frozenset(allowed)
            unknown = allowed - known
            _check_type("allowed_special", unknown)
            for name in unknown:
                name.encode()  # raises UnicodeEncodeError for a surrogate
        if not disallowed:
            return allowed, NOTHING
        names = _collected(disallowed)
        if not names:
            raise SpecialTokenError("disallowed_special is an iterator without names: pass () to allow any text")
        if not isinstance(names, str):
            _check_type("disallowed_special", names - known)
        return allowed, names

    # Encoding

    def encode_ordinary(self, text):
        """Encode a text in which special tokens are plain text.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> encoding = Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={"<e>": 257})
        >>> encoding.encode_ordinary("ab<e>")
        [256, 60, 101, 62]
        """
        return self._to_list(text, None, None, None)

    def encode(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """Encode a text; only allowed special tokens become their ids.

        Args:
            text: str, or bytes of UTF-8.
            allowed_special: special tokens that become their ids: a set, or "all".
            disallowed_special: special tokens that raise an error: any collection; "all": all that are not
                allowed; (): all are plain text.

        Raises:
            ValueError: the text contains a disallowed special token; the message lists three solutions.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> encoding = Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={"<e>": 257})
        >>> encoding.encode("ab<e>", allowed_special={"<e>"})
        [256, 257]
        """
        if allowed_special is NOTHING and disallowed_special is ALL:  # the defaults, without further checks
            return self._to_list(text, None, self._all(), None)
        allowed, disallowed = self._chosen(allowed_special, disallowed_special)
        return self._to_list(text, allowed, disallowed, None)

    def encode_to_numpy(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """Encode a text as `encode` does, into a new numpy array of shape (n,), dtype uint32.

        Raises:
            ImportError: numpy is not installed.
        """
        numpy = require_numpy("encode_to_numpy")
        return numpy.frombuffer(
            self._encode_to_buffer(text, allowed_special, disallowed_special), dtype=numpy.uint32
        )

    def _encode_to_buffer(self, text, allowed_special, disallowed_special):
        """Encode a text as `encode` does, into an array of uint32 with the buffer protocol."""
        allowed, disallowed = self._names(allowed_special, disallowed_special)
        return self._encode_to_array((text,), allowed, disallowed, None)[0]

    def encode_ordinary_batch(self, text, *, num_threads=8):
        """Encode each text as `encode_ordinary` does. Returns a list of lists, in order.

        Args:
            text: texts.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
        """
        if self._is_replaced("encode_ordinary"):
            return _mapped(self.encode_ordinary, text, num_threads)
        return self._to_lists(_listed(text), None, None, _threads(num_threads))

    def encode_batch(self, text, *, num_threads=8, allowed_special=NOTHING, disallowed_special=ALL):
        """Encode each text as `encode` does. Returns a list of lists, in order.

        Args:
            text: texts.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
            allowed_special, disallowed_special: as for `encode`.
        """
        if self._is_replaced("encode"):
            allowed = self.special_tokens_set if allowed_special == ALL else allowed_special
            disallowed = _collected(disallowed_special)
            disallowed = frozenset(self.special_tokens_set - allowed) if disallowed == ALL else disallowed
            call = partial(self.encode, allowed_special=allowed, disallowed_special=disallowed)
            return _mapped(call, text, num_threads)
        allowed, disallowed = self._chosen(allowed_special, _collected(disallowed_special))
        return self._to_lists(_listed(text), allowed, disallowed, _threads(num_threads))

    def _encode_single_piece(self, text_or_bytes):
        """Encode a text, or any bytes, as one piece that is not split. Special tokens are plain text."""
        cdef Ids ids = Ids(NULL, 0, 0)
        cdef Vocabulary vocabulary = self._ready().vocabulary
        cdef bytes piece
        cdef const uint8_t* data
        cdef size_t n
        if isinstance(text_or_bytes, str):
            piece = to_utf8(text_or_bytes)
        else:
            piece = bytes(memoryview(text_or_bytes))
        try:
            if len(piece) < NOGIL_BYTES:
                if piece:
                    encode_piece(&vocabulary.tables, <const uint8_t*> PyBytes_AS_STRING(piece), len(piece), &ids)
            else:
                data, n = <const uint8_t*> PyBytes_AS_STRING(piece), len(piece)
                with nogil:
                    encode_piece(&vocabulary.tables, data, n, &ids)
            return ids_list(ids.items, ids.n)
        finally:
            ids_free(&ids)

    # Decoding

    def decode_bytes(self, tokens):
        """Decode ids to bytes.

        Raises:
            KeyError: an id is not a token.
            OverflowError: an id is negative or exceeds 32 bits.
        """
        try:
            return self._decoder.decode_bytes(_ids(tokens))
        except InvalidTokenError as error:
            raise self._unknown(tokens, error) from None

    def decode(self, tokens, errors="replace"):
        """Decode ids to text, including special tokens.

        Args:
            tokens: ids.
            errors: treatment of bytes that are not UTF-8, as in `bytes.decode`: "replace", "strict", "ignore", …

        Raises:
            KeyError, OverflowError: as in `decode_bytes`.
            UnicodeDecodeError: with errors="strict", the bytes are not UTF-8.
        """
        try:
            return self._decoder.decode(_ids(tokens), errors)
        except InvalidTokenError as error:
            raise self._unknown(tokens, error) from None

    def decode_batch(self, batch, *, errors="replace", num_threads=8):
        """Decode each list of ids as `decode` does.

        Args:
            batch: lists of ids.
            errors: as for `decode`.
            num_threads: maximum number of threads. None: as in `Tokenizer.encode`.
        """
        if self._is_replaced("decode"):
            return _mapped(partial(self.decode, errors=errors), batch, num_threads)
        num_threads = _checked_threads(num_threads)  # outside the `try`: its error must not be caught
        batch = list(batch)
        try:
            return self._decoder.decode_batch(batch, errors, num_threads)
        except (InvalidTokenError, TypeError):  # one by one: for tiktoken's errors, and for items that are bytes
            texts = []
            for tokens in batch:
                texts.append(self.decode(tokens, errors))
                yield_gil_if_due()
            return texts

    def decode_bytes_batch(self, batch, *, num_threads=8):
        """Decode each list of ids as `decode_bytes` does.

        The calling thread does all the work: waking others would take longer. num_threads is checked, but has no
        effect.
        """
        cdef size_t n_held = 0
        cdef list out = []
        _checked_threads(num_threads)
        for tokens in batch:
            out.append(self.decode_bytes(tokens))
            yield_gil_after(<size_t> len(out[len(out) - 1]) // 4, &n_held)  # a token has about four bytes
        return out

    def decode_single_token_bytes(self, token):
        """Return the bytes of one id. Raises the errors of `decode_bytes`."""
        try:
            return self._decoder.token(token)
        except InvalidTokenError as error:
            raise self._unknown((token,), error) from None

    def decode_tokens_bytes(self, tokens):
        """Return the bytes of each id. Raises the errors of `decode_bytes`."""
        if self._is_replaced("decode_single_token_bytes"):
            return [self.decode_single_token_bytes(token) for token in tokens]
        try:
            return self._decoder.tokens(_ids(tokens))
        except InvalidTokenError as error:
            raise self._first_unknown(tokens, error) from None

    def decode_with_offsets(self, tokens):
        """Decode ids, and return the position in the text at which each of them begins.

        Returns:
            (text, offsets): for each id the index of the first character that contains one of its bytes.

        Raises:
            KeyError, OverflowError: as in `decode_bytes`.
            UnicodeDecodeError: the joined bytes of the ids are not UTF-8.

        >>> from fastbpe.tiktoken import Encoding
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> Encoding("t", pat_str=".+", mergeable_ranks=ranks, special_tokens={}).decode_with_offsets([256, 99])
        ('abc', [0, 2])
        """
        if self._is_replaced("decode_tokens_bytes") or self._is_replaced("decode_single_token_bytes"):
            return _with_offsets(self.decode_tokens_bytes(tokens))
        try:
            return self._decoder.decode_with_offsets(_ids(tokens), "strict")
        except InvalidTokenError as error:
            raise self._first_unknown(tokens, error) from None

    cpdef bint _is_replaced(self, str name):
        """Tell whether a subclass replaces a method that tiktoken calls for each text or id."""
        if self._own_class is None or type(self) is self._own_class:
            return False
        return getattr(type(self), name) is not getattr(self._own_class, name)

    cdef object _unknown(self, tokens, error):
        """Return the error that tiktoken raises if it converts all ids before it looks for their tokens."""
        cdef size_t i
        for i, token in enumerate(tokens):
            yield_gil_at(i)
            if not 0 <= (number := operator.index(token)) < 1 << 32:
                return OverflowError(f"id {short_repr(number)} is out of range: ids are unsigned 32-bit integers")
        for i, token in enumerate(tokens):
            yield_gil_at(i)
            try:
                self._decoder.token(token)
            except InvalidTokenError:
                return InvalidTokenError(f"Invalid token for decoding: {token}")
        return error  # `tokens` was an iterator and is exhausted

    cdef object _first_unknown(self, tokens, error):
        """Return the error that tiktoken raises if it looks for the token of each id in turn."""
        cdef size_t i
        for i, token in enumerate(tokens):
            yield_gil_at(i)
            try:
                self._decoder.token(token)
            except InvalidTokenError as of_token:
                return self._unknown((token,), of_token)
        return error


cdef list _mapped(call, items, num_threads):
    """Call a function for each item, in threads, as tiktoken does. Returns a list, in order."""
    from concurrent.futures import ThreadPoolExecutor  # here: few programs replace methods

    with ThreadPoolExecutor(_checked_threads(num_threads)) as pool:
        return list(pool.map(call, items))


cdef tuple _with_offsets(list tokens):
    """Return the text of tokens, and for each the index of the first character that contains one of its bytes."""
    cdef list offsets = []
    cdef Py_ssize_t n_begun = 0
    for token in tokens:
        begins = [byte & 0xC0 != 0x80 for byte in token]
        offsets.append(max(n_begun - (begins[:1] == [False]), 0))  # inside the last character that has begun
        n_begun += sum(begins)
    return b"".join(tokens).decode(), offsets


cdef object _collected(object names):
    """Return the names of disallowed_special as `SpecialTokens.choose` takes them: "all" or a frozenset."""
    if isinstance(names, frozenset) or names == ALL:
        return names
    try:
        return frozenset(names)
    except TypeError as error:
        raise TypeError(
            f'disallowed_special={short_repr(names)}: pass "all", or a collection of special tokens as str'
        ) from error


cdef int _check_type(str argument, frozenset names) except -1:
    """Raise TypeError if a name is not a str."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument}: the special token {short_repr(name)} must be a str")
    return 0


cdef object _listed(object texts):
    return list(texts) if isinstance(texts, str) else texts  # a str is a sequence of one-character texts


cdef object _ids(object tokens):
    # tiktoken treats bytes as a sequence of ids; the decoder refuses bytes, but reads a bytearray as ids.
    return bytearray(tokens) if type(tokens) is bytes else tokens


cdef object _threads(object num_threads):
    """Return num_threads for the core.

    The default of eight becomes None, for FASTBPE_NUM_THREADS or one thread per core, if there are no more cores.
    """
    num_threads = _checked_threads(num_threads)
    return None if num_threads == DEFAULT_THREADS and DEFAULT_IS_ALL_CORES else num_threads


cdef object _checked_threads(object num_threads):
    """Return num_threads as an int, or None. tiktoken's executor accepts any number, such as os.cpu_count() / 2.

    Raises:
        ValueError: num_threads is not positive, even if there is nothing to encode.
        TypeError: num_threads is not a number.
    """
    if type(num_threads) is not int and hasattr(num_threads, "__float__"):
        num_threads = ceil(num_threads)
    usable_threads(num_threads)
    return num_threads
