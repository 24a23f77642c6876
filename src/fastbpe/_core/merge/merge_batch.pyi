"""Used only from Cython and tests: see the .pxd."""

def use_path(path: str) -> None:
    """Use the kernels of this instruction set from now on, like FASTBPE_SIMD at import. For tests."""
