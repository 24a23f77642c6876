"""Text as UTF-8: views of str, safe cuts, batches, JSON lines, special tokens."""
