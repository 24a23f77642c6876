"""Reads ids from any sequence: copies each once, checks that it is a token, and sums up the tokens' sizes."""

from typing_extensions import disjoint_base

@disjoint_base
class IdReader: ...
