"""Training of tokenizers: options, counting of pieces, and learning in each mode."""
