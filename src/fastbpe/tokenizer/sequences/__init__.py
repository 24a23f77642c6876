"""The tokenizer for sequences of integers."""
