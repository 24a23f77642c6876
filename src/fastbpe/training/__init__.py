"""Training of tokenizers: counting of pieces and learning of merges."""
