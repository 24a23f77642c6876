"""Published vocabularies: find them by name on this machine, download them by express wish.

`find` looks into the folders of FASTBPE_VOCAB_DIR, the user's cache, tiktoken's and Hugging Face's, and opens
no socket. `fetch` alone does, for `fastbpe fetch` and for a cache miss of `fastbpe.tiktoken`: it checks the
SHA-256 and writes into a folder that only the user can enter. A file counts as published by its SHA-256; a
native file or a folder of that name by the SHA-256 of its ranks, written as the published file writes them.
"""
