"""Normalizers: sentencepiece's charsmaps and options, and Unicode forms that keep the place of each byte.

Most text needs no change. A table look-up decides about an ASCII character that ASCII follows, eight bytes at a
time where words do not change. For any other character one bit tells whether a rule or a user-defined symbol
may begin with it. Text for a model without rules that does not trim (Llama 2, Mistral) is not normalized at all:
spaces stay spaces, one byte instead of the three of U+2581, so that most words fit a key of 15 bytes.
"""
