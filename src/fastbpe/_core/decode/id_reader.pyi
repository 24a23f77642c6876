"""Reads ids from any sequence: copies each once, checks that it is a token, and adds its length to the sums."""

from typing_extensions import disjoint_base

@disjoint_base
class IdReader: ...
