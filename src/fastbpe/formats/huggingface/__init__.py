"""tokenizer.json of Hugging Face's tokenizers, read and written; tokenizers 0.23 is the oracle.

`parts` checks the small parts and refuses by name and place what it does not know. `vocabulary` turns
vocabulary and merges into bytes and ids; `_vocab_json` is its fast form and leaves anything unusual to it.
`read` makes a `Model`, `read_llama` a `CodePointModel` with `Conventions` for what tokenizers does otherwise
than sentencepiece. `llama_spaces` has the normalizers for each of sentencepiece's options about spaces,
`llama_symbols` the Split that finds user-defined pieces; both are read back only in the form in which they were
written. `charsmap.shown_apart` says why rules of normalization are refused.

Pre-tokenizers that one regex or several can say become a `pattern`. Others stay in the model as the file has
them, and `tokenizer.components` makes splitters of them. `templates` reads post-processors, `tokenizer_config`
the file beside it that names bos, eos, pad and unk.
"""
