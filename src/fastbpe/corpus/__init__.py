"""Documents in, files of ids out.

`encode_files` works in four steps:

1. `listing` lists the files, and `sources` reads their documents in parts. Each part carries the position in the
   file from which a later run could continue. A long document of a text file is cut at safe cuts, never inside a
   special token.
2. Threads encode batches: a block of 64 KB or more of a file, or shorter texts until they have half a megabyte or
   their number is 65,536. The calling thread reads ahead and writes finished batches in order; when it has nothing
   else to do, it also encodes.
3. `sinks` appends ids and document offsets to files in OUT.partial. Every few seconds it calls fsync and then
   replaces the note of its progress. A resumed run truncates the files to the noted lengths and continues.
4. At the end `sinks` writes the header of a .npy or llm.c's .bin, and then notes "finishing". It can repeat each
   step after that: copy into parquet or Arrow, or write a .idx; rename; remove the folder.

The ids of a text do not depend on where it was cut or where a run stopped. So a resumed run writes the same bytes.
"""
