"""Ids of texts that arrive in parts, grow, or are examined in parts."""
