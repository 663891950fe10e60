// The number of threads that a call uses, and the number of the thread that runs.
#pragma once

#include <cstdint>

#include "compiler.hpp"

namespace lapmodes {

// As many of `threads` as have enough to do with this many operations; defined in module.cpp.
int useful_threads(int threads, std::int64_t operations);

}  // namespace lapmodes
