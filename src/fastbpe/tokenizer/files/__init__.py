"""Files of ids that a tokenizer writes."""
