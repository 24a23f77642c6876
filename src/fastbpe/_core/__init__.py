"""Compiled core; its folders are layers, from `common` at the bottom to `encode`, `decode` and `train`."""
