"""Texts that come, grow or are asked about in parts, and their ids."""
