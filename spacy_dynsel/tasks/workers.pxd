"""What the threads of all tasks need: a counter, a way to start, and references to
Python objects that are held without the GIL."""
from cpython.ref cimport PyObject

cdef extern from "<atomic>" namespace "std" nogil:
    cdef cppclass atomic_int "std::atomic<int>":
        int fetch_add(int n)
        void store(int n)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    void run_workers(int n_threads, void (*work)(void*, int) noexcept nogil, void* job)

cdef extern from "Python.h":
    void Py_INCREF(PyObject* o)
    void Py_DECREF(PyObject* o)


cdef inline PyObject* new_reference(object owner) noexcept:
    Py_INCREF(<PyObject*>owner)
    return <PyObject*>owner


cdef inline void free_reference(PyObject* owner) noexcept with gil:
    Py_DECREF(owner)
