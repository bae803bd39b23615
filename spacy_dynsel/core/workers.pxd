"""What the threads of all tasks need: a counter and a way to start."""

cdef extern from "<atomic>" namespace "std" nogil:
    cdef cppclass atomic_int "std::atomic<int>":
        int fetch_add(int n)
        void store(int n)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    bint run_workers(int n_threads, void (*work)(void*, int) noexcept nogil, void* job)
    void throw_no_memory()
    void require_memory_for_gil()
