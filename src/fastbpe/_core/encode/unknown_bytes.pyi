"""Spans in pieces that have bytes without a token, which vocabularies of tokenizers may have."""
