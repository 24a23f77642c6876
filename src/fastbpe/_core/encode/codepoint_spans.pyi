"""Spans of ids in code-point mode."""
