"""Reads ids from any sequence: each is copied once, checked to be a token, and added to the sums of the text."""

from typing_extensions import disjoint_base

@disjoint_base
class IdReader: ...
