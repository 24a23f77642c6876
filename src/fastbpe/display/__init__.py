"""Tokens to look at: one model of shown tokens, drawn as plain text, on a terminal, in rich and as HTML."""
