"""Tokenizers made of others: tokens added, removed, joined; ids before and after."""
