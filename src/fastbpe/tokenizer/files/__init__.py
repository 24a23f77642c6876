"""Writing of files of ids by a tokenizer."""
