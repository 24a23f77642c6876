"""sentencepiece's .model files, read and written without protobuf.

`protobuf` knows the wire form, `specs` the names of options, `piece_messages` reads the pieces, nearly all of a
file. Every BPE model that sentencepiece accepts is accepted. A model keeps the bytes it was read from; without
them it is written as sentencepiece writes it.
"""
