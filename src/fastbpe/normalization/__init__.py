"""Normalizers of sentencepiece and of Hugging Face's tokenizers."""
