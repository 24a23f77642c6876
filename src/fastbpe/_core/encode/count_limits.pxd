from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.utf8_text cimport Text


cdef size_t count_up_to(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t limit, Scratch* scratch
) except? 0 nogil
