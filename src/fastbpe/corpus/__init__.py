"""Reading of text files and writing of id files."""
