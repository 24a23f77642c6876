"""Display of tokens as plain text, in colours on a terminal, with rich, or as HTML."""
