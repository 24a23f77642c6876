"""Training: counting pieces or words, and learning merges or unigram models from the counts."""
