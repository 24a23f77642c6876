"""Texts to ids: one text, a batch on several threads, counts, offsets, dropout."""
