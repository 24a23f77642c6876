"""Helpers that several test files share. Each module's docstring says what it holds."""
