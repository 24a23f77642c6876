"""Used from Cython only: see the .pxd."""
