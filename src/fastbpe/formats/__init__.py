"""Tokenizer files: one module a format, each a translator between bytes and a model.

`detect` recognises a format by its content and reads it; `endings` says which format a path asks for; `foreign`
names files that are no vocabulary (a Git LFS pointer, an HTML page); `limits` counts what no file may have more
of before it is read; `atomic_files` writes a file whole or not at all. `native` is fastbpe's own `.fbpe`: a
`container` of tables, memory-mapped; `sequences` is the same for integers. Since whoever can
write a checksum can write anything behind it, every table is checked.
"""
