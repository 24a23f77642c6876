"""Memory, buffers, hash tables and interrupts for all of the core."""
