"""Give back the memory that is kept between calls."""

from __future__ import annotations

import sys

from fastbpe._core.encode.kept_memory import free_blocks, give_to_system
from fastbpe._utils.threads import end_idle_threads

#: Caches that grow with what is asked, and modules that have them; tables of Unicode, made once, are none of them.
CACHES = {
    "fastbpe._core.normalize.unicode_forms": ("_decomposed", "_known"),
    "fastbpe.minbpe.tokenizers": ("_splitter",),
    "fastbpe.normalization.sentencepiece_rules": ("_kept",),
    "fastbpe.splitting.charset": ("_case_closure", "_property"),
    "fastbpe.splitting.firsts": ("first_bytes",),
    "fastbpe.splitting.oniguruma": ("from_oniguruma",),
    "fastbpe.splitting.recognise": ("recognise",),
    "fastbpe.splitting.to_regex": ("_print_set", "compile_regex"),
}


def release_memory() -> int:
    """Give back the memory that fastbpe keeps between calls.

    Call this after a large job in a process that lives on. All tokenizers go on working, also those that other
    threads are encoding with now: these keep what they work with. The next call of each tokenizer is a cold one.

    What is kept, and its bound:

    - The block of the array that was dropped last: 32 MB for the process. Given back.
    - Of each tokenizer, the caches of pieces: `cache_bytes`, 64 MB, for all threads together. Given back.
    - Of each tokenizer, for each thread that encoded at the same time, 64 at most: ids, 32 MB, and text, pieces'
      ends and offsets, 4 MB; and for batches one block that threads share, 32 MB of which are touched. It is as
      large as the largest call needed. Given back.
    - Threads that wait for work: as many as worked at the same time, 256 at most. They end.
    - Patterns and character sets that were compiled: 64 to 1,024 of each kind; normalized characters, 4,096 of
      each kind; the five standard charsmaps. Given back, but not counted.
    - Free pages that glibc's malloc holds. Given back (malloc_trim), but not counted.
    - The int objects of ids and of places in texts, 32 bytes each, 32 MB for the process. They stay, since lists
      of ids hold them.
    - The tables of a tokenizer: they stay until it is dropped. What it makes when it is first asked (the tables
      of decoding, 16 bytes an id; `vocab`, `merges`; 32 sets of special tokens that calls allowed) stays, too.

    Returns:
        Bytes of the blocks that were freed, whether all of them had been touched or not.

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
                getattr(sys.modules[module], name).cache_clear()
    end_idle_threads()
    give_to_system()
    return n_bytes
