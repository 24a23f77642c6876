"""Reading and writing of sentencepiece's `.model` files."""
