"""Memory, growing buffers, hash tables, UTF-8, Ctrl-C, and release of the GIL now and then."""
