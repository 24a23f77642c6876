"""Rules of sentencepiece, normalizers and decoders of Hugging Face's tokenizers, and classes that change texts."""
