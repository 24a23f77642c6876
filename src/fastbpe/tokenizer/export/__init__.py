"""Files of tokenizers: written, read back, compared."""
