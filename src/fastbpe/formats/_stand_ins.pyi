"""Used by other compiled modules only."""
