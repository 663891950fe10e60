// The number of threads that a call uses, and the number of the thread that runs.
#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace lapmodes {

// As many of `threads` as have enough to do with this many operations; defined in module.cpp.
int useful_threads(int threads, std::int64_t operations);

inline int thread_index() {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

}  // namespace lapmodes
