"""Split patterns: Unicode character sets, the parser, and the splitters that run them."""

from fastbpe.splitting.make import MAX_STEPS, chain, engine_of, make_splitter

__all__ = ["MAX_STEPS", "chain", "engine_of", "make_splitter"]
