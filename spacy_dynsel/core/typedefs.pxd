from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef uint32_t atom_t   # the value of an atom: a folded hash or a small number
ctypedef uint32_t feat_t   # the key of a feature: a template and its atoms' values
ctypedef int16_t score_t   # a sum of integer weights
