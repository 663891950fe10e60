// Weighted sums of neighbours' rows, (W Z)_n, with the rows that are needed next on their way from memory.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "isa.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

inline constexpr std::int64_t kEdgesAhead = 64;  // from the edge being summed to the one whose row is prefetched
inline constexpr std::int64_t kCacheLine = 64;

// Prefetches the row of Z that is gathered kEdgesAhead edges after e.
template <class T, class Layout>
LAPMODES_INLINE void prefetch_neighbor(const Layout& layout, const Csr<T>& W, std::int64_t edges, std::int64_t e,
                                       const T* Z) {
    const std::int64_t later = e + kEdgesAhead < edges ? e + kEdgesAhead : e;
    const char* row = reinterpret_cast<const char*>(Z + static_cast<std::int64_t>(W.indices[later]) * layout.k);
    const std::int64_t bytes = layout.k * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t at = 0; at < bytes - 1; at += kCacheLine) prefetch(row + at);
    prefetch(row + bytes - 1);
}

// wz OUT: the vectors [first, first + Count) of sum_m w_nm Z_m, kept in registers while they are summed.
template <class T, int Count, bool Prefetches, class Layout>
inline void gather_some(const Layout& layout, const Csr<T>& W, std::int64_t edges, std::int64_t n, const T* Z,
                        std::int64_t first, typename Layout::V* wz) {
    typename Layout::V acc[Count] = {};
    const std::int64_t end = W.indptr[n + 1];
    for (std::int64_t e = W.indptr[n]; e < end; ++e) {
        if constexpr (Prefetches) prefetch_neighbor(layout, W, edges, e, Z);
        const T w = W.values[e];
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * layout.k;
        for (int r = 0; r < Count; ++r) acc[r] += w * layout.load_row(z, first + r);
    }
    for (int r = 0; r < Count; ++r) wz[first + r] = acc[r];
}

// wz (layout.size()) OUT: sum_m w_nm Z_m. `edges` is the number of edges of the whole graph.
template <class T, class Layout>
inline void gather(const Layout& layout, const Csr<T>& W, std::int64_t edges, std::int64_t n, const T* Z,
                   typename Layout::V* wz) {
    if constexpr (Layout::kVectors > 0) {
        gather_some<T, Layout::kVectors, true>(layout, W, edges, n, Z, 0, wz);
    } else {
        gather_some<T, 5, true>(layout, W, edges, n, Z, 0, wz);
        std::int64_t r = 5;
        for (; r + 8 <= layout.size(); r += 8) gather_some<T, 8, false>(layout, W, edges, n, Z, r, wz);
        for (; r + 3 <= layout.size(); r += 3) gather_some<T, 3, false>(layout, W, edges, n, Z, r, wz);
        for (; r < layout.size(); ++r) gather_some<T, 1, false>(layout, W, edges, n, Z, r, wz);
    }
}

}  // namespace lapmodes::LAPMODES_ISA
