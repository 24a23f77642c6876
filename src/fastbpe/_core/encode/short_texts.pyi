"""Short texts to lists of ids: the work of Pipeline.encode() with less around it."""
