"""Documents in, files of ids out.

`encode_files` works in four steps:

1. `sources` names the files and gives their documents in parts, each with the place where reading could go on
   behind it. A long document of a text file is cut at safe cuts and never inside a special token.
2. Batches of half a megabyte and more go to threads. The calling thread reads ahead, writes finished batches in
   order, and encodes, too, when it has nothing else to do.
3. `sinks` appends ids and document offsets to files in OUT.partial. Every few seconds, after an fsync, it notes
   how far it has come. A run that starts again cuts the files back to the note and goes on.
4. At the end the note says "finishing". Every step after that can be repeated: write the .npy header or copy
   into parquet, rename, clear up.

The ids of a text do not depend on where it was cut or stopped, so the bytes are the same.
"""
