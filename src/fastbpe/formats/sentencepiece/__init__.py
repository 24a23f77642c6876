"""sentencepiece's .model files, read and written without protobuf.

`protobuf` implements the wire format, `specs` lists the options, `piece_messages` reads the pieces, which are most
of a file. fastbpe accepts every BPE model that sentencepiece accepts. A model keeps the bytes from which it was
read; without them it is written as sentencepiece would write it.
"""
