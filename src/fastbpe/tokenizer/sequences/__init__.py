"""The tokenizer of sequences of integers."""
