from spacy.strings cimport StringStore
from spacy.typedefs cimport attr_t


cdef struct TextC:
    const unsigned char* start
    int n_bytes


cdef object get_text(StringStore strings, attr_t orth, TextC* text)
