"""Memory that the core keeps between calls, given back."""

def free_blocks() -> int:
    """Free the memory that waits for the next call, of all pipelines; return how many bytes."""

def give_to_system() -> None:
    """Have malloc return free pages to the system."""
