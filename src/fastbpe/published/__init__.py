"""Published vocabularies: find them by name on this machine, or download them on request.

`find` searches the folders of FASTBPE_VOCAB_DIR, the user's cache, tiktoken's and Hugging Face's, and never uses
the network. Only `downloads` does, for `fastbpe fetch` and for a cache miss of `fastbpe.tiktoken`. `fastbpe fetch`
checks the SHA-256, if one is published, and writes into a folder that only the user can enter. A file is
recognised as published by its SHA-256; a native file, or a folder with the name, by the SHA-256 of its ranks in
the format of the published file.
"""
