"""Export of tokenizers: files are written, read back and compared."""
