// A number for each row: equal rows have equal numbers, unequal ones almost surely not.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "arrays.hpp"

namespace lapmodes {

// Mixes one more word into a key (the finalizer of MurmurHash3).
inline std::uint64_t mixed(std::uint64_t key, std::uint64_t word) {
    key = (key ^ word) * 0xff51afd7ed558ccdULL;
    key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return key ^ (key >> 29);
}

// The bits of a number; both zeros are equal and have the same.
template <class T>
std::uint64_t bits_of(T value) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return value == T(0) ? 0 : std::bit_cast<Bits>(value);
}

// keys (n) OUT. Stored zeros of sparse rows do not count.
template <class T>
void row_keys(const Points<T>& X, std::uint64_t* keys, [[maybe_unused]] int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t n = 0; n < X.n; ++n) {
        std::uint64_t key = 0;
        if (X.dense != nullptr) {
            for (std::int64_t i = 0; i < X.d; ++i) key = mixed(key, bits_of(X.dense[n * X.d + i]));
        } else {
            for (std::int64_t e = X.sparse.indptr[n]; e < X.sparse.indptr[n + 1]; ++e)
                if (X.sparse.values[e] != T(0))
                    key = mixed(mixed(key, static_cast<std::uint64_t>(X.sparse.indices[e])), bits_of(X.sparse.values[e]));
        }
        keys[n] = key;
    }
}

}  // namespace lapmodes
