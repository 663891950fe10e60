// How many threads a piece of work keeps busy; defined in module.cpp.
#pragma once

#include <cstdint>

int useful_threads(int threads, std::int64_t operations);
