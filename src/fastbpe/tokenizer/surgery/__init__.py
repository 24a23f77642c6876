"""Tokenizers made from others: tokens are added, removed or joined; ids before and after are compared."""
