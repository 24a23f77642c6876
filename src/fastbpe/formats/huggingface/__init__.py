"""Reading and writing of tokenizer.json, the format of Hugging Face's tokenizers."""
