"""Normalizers: sentencepiece's charsmaps and options, steps of a tokenizer.json, and Unicode forms.

On request they record where each byte of their output comes from.

Most text needs no change. A table look-up decides about an ASCII character that ASCII follows. If none of the
characters from ! to ~ changes, the look-up is left out, and up to eight of them are copied at once. For any other
character one bit tells whether a rule or a user-defined symbol may begin with it. Text for a model without rules
that does not trim (Llama 2, Mistral) is not normalized at all: spaces stay spaces, one byte instead of the three
of U+2581, so that most words fit a key of 15 bytes.
"""
