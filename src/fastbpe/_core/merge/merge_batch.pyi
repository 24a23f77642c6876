"""Used only from Cython and tests: see the .pxd."""

def use_path(path: str) -> None:
    """Merge by the kernels of an instruction set from now on, as FASTBPE_SIMD does at import. For tests."""
