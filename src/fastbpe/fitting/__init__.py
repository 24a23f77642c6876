"""Ids fitted to a length by the rules of Hugging Face's tokenizers: truncated, padded."""
