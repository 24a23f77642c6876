"""Pieces of text cut into tokens without merging: by best score, by longest match, or looked up whole."""
