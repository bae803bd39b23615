"""std::vector without Cython's own treatment of C++ exceptions.

Where memory runs out, std::bad_alloc unwinds as in C++. So this is for functions that
run below run_workers or call_guarded only, and that leave nothing behind which is not
freed by a destructor. Elsewhere, libcpp's vector makes it a MemoryError.
"""

cdef extern from "<vector>" namespace "std" nogil:
    cdef cppclass bare_vector "std::vector" [T]:
        bare_vector()
        T& operator[](size_t place)
        T& back()
        T* data()
        void assign(size_t n, const T& value)
        void clear()
        bint empty()
        void pop_back()
        void push_back(const T& value)
        void resize(size_t n)
        size_t size()
