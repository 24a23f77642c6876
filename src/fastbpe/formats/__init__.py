"""Tokenizer files: one module for each format, which translates between the bytes of a file and a model.Model.

`detect` recognises a format by its content and reads it; `endings` maps the extension of a path to a format;
`foreign` recognises files that are not a vocabulary (a Git LFS pointer, an HTML page); `limits` refuses a file
with too many items before reading it; `atomic_files` writes files atomically. `native` is fastbpe's own `.fbpe`: a
`container` of memory-mapped tables; `sequence_tokenizer_file` defines such a file for vocabularies over integers.
A checksum does not protect against a hostile file, so every table is checked too.

Functions that read take `data`, the bytes of a file; `where`, the name of the file in errors; and
`special_tokens`, name → id, which replace the special tokens of the file.
"""
