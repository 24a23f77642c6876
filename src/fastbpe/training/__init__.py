"""Train tokenizers: options, counts of pieces, bytes or code points."""
