"""Tokenizer files: one module a format, each a translator between bytes and a model."""
