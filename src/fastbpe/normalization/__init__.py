"""Rules of sentencepiece, normalizers and decoders of tokenizers, and changes by classes of transformers."""
