"""Training: counting pieces or words, and learning merges from the counts."""
