from .weight_table cimport WeightTable

cdef dict save_table(WeightTable* table)
cdef tuple list_weights(WeightTable* table)
cdef int load_table(WeightTable* table, dict state, int n_outputs) except -1
