"""Rules of Hugging Face's tokenizers around encoding: rows, frames, truncation, padding, columns, streams."""
