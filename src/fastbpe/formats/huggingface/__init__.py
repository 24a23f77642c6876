"""tokenizer.json of Hugging Face's tokenizers, read and written. tokenizers 0.23 defines what is right.

`step_parts` checks the small parts; it refuses unknown ones, with their name and place. `byte_vocabulary` turns
vocabulary and merges into bytes and ids; `_vocab_json` is its fast twin for plain files. `read` creates a `Model`,
`read_llama` a `CodePointModel` with `Conventions` for the differences between tokenizers and sentencepiece.
`read_characters` and `read_segmented` read all other files.
`llama_spaces` has the normalizers for each of sentencepiece's options about spaces, `llama_symbols` the Split that
finds user-defined pieces; both read only the form that they write. The writers refuse normalization rules that
tokenizers would apply differently, and show a text that differs: `formats.charsmap.shown_apart`.

Pre-tokenizers that are equivalent to one or several regexes become a `pattern`. Others stay in the model
unchanged, and `tokenizer.families.step_objects` builds splitters from them. `templates` reads post-processors,
`tokenizer_config` the file next to a tokenizer.json that names bos, eos, pad and unk.
"""
