"""Read ids from any sequence: copy each once, check that it is a token, and add its length to the sums."""

from typing_extensions import disjoint_base

@disjoint_base
class IdReader: ...
