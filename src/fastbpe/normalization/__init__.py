"""Normalization rules of sentencepiece, and the normalizers of Hugging Face's tokenizers."""
