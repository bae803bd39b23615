// Memory for large tables with random access: in large pages, if the system has them. It
// takes as long to find the small page of an address as to read from it.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dynsel {

constexpr size_t LARGE_PAGE = size_t{1} << 21;

template <typename T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <typename U>
    LargePages(const LargePages<U>&) {}

    T* allocate(size_t n) {
#if defined(__linux__)
        if (is_large(n)) {
            const size_t size = (n * sizeof(T) + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
            void* memory = std::aligned_alloc(LARGE_PAGE, size);
            if (memory == nullptr) throw std::bad_alloc();
            // Only a wish: small pages will do.
            madvise(memory, size, MADV_HUGEPAGE);
            return static_cast<T*>(memory);
        }
#endif
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }

    void deallocate(T* memory, size_t n) {
#if defined(__linux__)
        if (is_large(n)) {
            std::free(memory);
            return;
        }
#endif
        ::operator delete(memory);
    }

    bool operator==(const LargePages&) const { return true; }
    bool operator!=(const LargePages&) const { return false; }

  private:
    static bool is_large(size_t n) { return n >= 2 * LARGE_PAGE / sizeof(T); }
};

}  // namespace dynsel
