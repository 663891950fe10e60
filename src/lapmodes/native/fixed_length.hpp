// Loops over short rows, whose length the compiler is told.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// Calls body(k) with a k that the compiler knows where it is at most K: loops up to it are then unrolled.
template <std::int64_t K = 8, class Body>
void with_fixed_length(std::int64_t k, Body body) {
    if constexpr (K == 0)
        body(k);
    else if (k == K)
        body(std::integral_constant<std::int64_t, K>{});
    else
        with_fixed_length<K - 1>(k, body);
}

}  // namespace lapmodes::LAPMODES_ISA
