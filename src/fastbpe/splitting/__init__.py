"""Split patterns: from a regex to a splitter.

`make_splitter` chooses one of three; the splitter's repr says which.

1. A scanner (`_core.split.scanner`) for a pattern of runs, or one that `recognise` knows, however it is written;
   for `superbpe_lines` as in `PATTERNS`, a splitter of its own. A scanner finds the starts of pieces in 64 bytes
   at once, by bit algebra over masks of character classes.
2. The engine (`_core.split.regex_engine`) for any other pattern that `program` compiles. `syntax` parses,
   `simplify` reduces the tree to characters, sequences, alternations, repetitions, atomic groups and look-arounds,
   `firsts` tells which characters can come next. The engine backtracks, leftmost first. An attempt of more
   than 4,096 steps remembers its states and enters none twice, so that patterns like `(a+|b)+c` end after a
   polynomial number of steps.
3. The `regex` package, which takes the GIL, for the rest: look-behind without a fixed width, some back-references,
   programs that are too large.

Backtracking has a limit for each text, with all its pieces if several patterns are applied in order: 2**22 steps
of the engine plus 256 per byte, and in `regex` 3 seconds of processor time plus 10 microseconds per byte. Beyond
it, PatternError names the place.

`steps` describes the pre-tokenizers of Hugging Face's tokenizers; `oniguruma` translates their patterns, or
refuses them. Classes come from Unicode 16.0.0 (`unicode_tables`, generated).
"""

from fastbpe.splitting.make import MAX_STEPS, chain, engine_of, make_splitter

__all__ = ["MAX_STEPS", "chain", "engine_of", "make_splitter"]
