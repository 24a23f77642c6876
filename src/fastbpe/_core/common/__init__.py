"""Memory, growing buffers, hash tables, UTF-8, Ctrl-C, and turns of the GIL."""
