"""Tokenizer files: one module for each format, which translates between the bytes of a file and a model.Model.

`detect` recognises a format by its content and reads it; `endings` maps the extension of a path to a format;
`foreign` recognises files that are not a vocabulary (a Git LFS pointer, an HTML page); `limits` refuses a file
with too many items before reading it; `atomic_files` writes files atomically. `native` is fastbpe's own `.fbpe`: a
`container` of memory-mapped tables; `sequence_tokenizer_file` defines such a file for vocabularies over integers.
A checksum does not protect against a hostile file, so every table is checked too.

Functions that read take `data`, the bytes of a file; `where`, the name of the file in errors; `special_tokens`,
name → id, which replace the special tokens of the file; and `named`, tokens that other files of its folder name.
Readers of a folder take `folder`; `path`, the tokenizer's own file; `config`, what tokenizer_config.json contains;
and `class_name`, the tokenizer's class in transformers, without "Tokenizer" ("": the folder names no class).
They raise FormatError for a damaged file, and OSError for a file that cannot be read.

Functions that write take `tokens`, the bytes of each id (b"" if an id is not an ordinary token); `merges`, best
first, as (left id, right id) or (left id, right id, merged id); and `special_tokens`. They raise FormatError if
the format cannot store the vocabulary.
"""
