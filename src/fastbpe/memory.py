"""`release_memory`: release the memory that fastbpe keeps between calls."""

from __future__ import annotations

import sys

from fastbpe._core.encode.kept_memory import free_blocks, give_to_system
from fastbpe._utils.threads import end_idle_threads

#: Module → its functions with `cache_clear`; tests/unit/test_memory.py finds functions that are missing here.
#: Tables of Unicode are not listed: they are built once and do not grow.
CACHES = {
    "fastbpe._core.normalize.unicode_forms": ("_decomposed", "_known"),
    "fastbpe.chats.message_counts": ("_renderer",),
    "fastbpe.cluster.workers": ("_load",),
    "fastbpe.minbpe.tokenizers": ("_splitter",),
    "fastbpe.normalization.huggingface": ("_precompiled",),
    "fastbpe.normalization.sentencepiece_rules": ("_cached_charsmap",),
    "fastbpe.splitting.charset": ("_case_closure", "_property"),
    "fastbpe.splitting.firsts": ("first_bytes",),
    "fastbpe.splitting.make": ("_compiled",),
    "fastbpe.splitting.oniguruma": ("from_oniguruma",),
    "fastbpe.splitting.piece_language": ("_automaton",),
    "fastbpe.splitting.recognise": ("recognise",),
    "fastbpe.splitting.syntax": ("parse",),
    "fastbpe.splitting.to_regex": ("_print_set", "compile_regex"),
    "fastbpe.tokenizers.splits": ("_made",),
}


def release_memory() -> int:
    """Release the memory that fastbpe keeps between calls.

    Call this after a large job in a process that keeps running. All tokenizers keep working; one that is encoding
    in another thread at that moment keeps the memory that it uses. The next call of each tokenizer has cold
    caches.

    Released, and counted in the result:

    - The memory of the last arrays of ids and of spans that were freed: up to 32 MB of each kind per process.
    - Piece caches of each tokenizer: up to `cache_bytes` (64 MB by default) for all threads together.
    - The table of the tuples of offsets that lists share: 1 MB per process.
    - Encoding buffers of each tokenizer, for each thread that encoded at the same time (up to 64): up to 32 MB of
      ids, and up to 4 MB each of text, pieces and offsets. For batches, the threads share one block, as
      large as the largest call needed; at most 32 MB of it occupy physical memory.

    Released, but not counted:

    - Idle threads, up to 256: they end.
    - Tuples of offsets in the table, up to 131,072 of 64 bytes each, if no list contains them.
    - Compiled patterns and character sets: each kind has a limit between 16 and 1,024. Automata of patterns: up
      to 8. Compiled chat templates: up to 8. Characters in a Unicode normal form: up to 4,096, in each of two
      caches. Charsmaps: the five standard sets of rules, and up to 4 of tokenizer.json files.
    - Tokenizers that tasks of Spark or Ray use in this process: up to 4.
    - Free pages that glibc's malloc keeps (malloc_trim).

    Kept:

    - The int objects of ids and offsets, which lists of ids share: 32 bytes each, up to 32 MB per process.
    - The tables of a tokenizer, as long as it lives, and tables that it builds at first use: for decoding
      (16 bytes for each id), for `explain`, the order of tokens for `completions`, and matchers for
      up to 32 sets of special tokens that calls allowed or forbade.

    Returns:
        int – bytes of the freed blocks, including pages that were never touched.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["some text"] * 100, vocab_size=260, progress=False)
    >>> ids = tokenizer.encode("some text")
    >>> fastbpe.release_memory() > 0
    True
    >>> tokenizer.encode("some text") == ids
    True
    """
    n_bytes: int = free_blocks()
    for module, names in CACHES.items():
        if module in sys.modules:
            for name in names:
                cache = getattr(sys.modules[module], name)
                if cache is not None:  # None: nothing has made the cache yet
                    cache.cache_clear()
    end_idle_threads()
    give_to_system()
    return n_bytes
