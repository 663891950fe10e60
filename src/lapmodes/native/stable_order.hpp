// The order of numbers from the lowest, equals as they come: a radix sort.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapmodes {

// Unsigned integers in the order of the floating-point numbers they stand for; -0 is 0.
template <class T>
auto sortable(T value) {
    using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1);
    const Key bits = std::bit_cast<Key>(value + T(0));
    return bits & sign ? ~bits : bits | sign;
}

// values (n) IN; order (n) OUT: their positions from the lowest value on, in a few passes over 11 bits each.
template <class T>
void stable_order(const T* values, std::int64_t n, std::int32_t* order) {
    using Key = decltype(sortable(T(0)));
    constexpr int kBits = 11, kPasses = (8 * sizeof(Key) + kBits - 1) / kBits;
    constexpr Key kMask = (Key(1) << kBits) - 1;
    std::vector<std::array<std::int64_t, std::size_t(1) << kBits>> counts(kPasses);
    for (auto& count : counts) count.fill(0);
    std::vector<Key> keys(static_cast<std::size_t>(n)), other_keys(keys.size());
    std::vector<std::int32_t> other(keys.size());
    for (std::int64_t i = 0; i < n; ++i) {
        keys[i] = sortable(values[i]);
        order[i] = static_cast<std::int32_t>(i);
        for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][keys[i] >> (pass * kBits) & kMask];
    }
    std::int32_t *from = order, *to = other.data();
    for (int pass = 0; pass < kPasses; ++pass) {
        auto& next = counts[pass];
        if (std::find(next.begin(), next.end(), n) != next.end()) continue;  // all have the same bits
        std::int64_t sum = 0;
        for (auto& each : next) sum += std::exchange(each, sum);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t at = next[keys[i] >> (pass * kBits) & kMask]++;
            other_keys[at] = keys[i];
            to[at] = from[i];
        }
        keys.swap(other_keys);
        std::swap(from, to);
    }
    if (from != order) std::copy(from, from + n, order);
}

}  // namespace lapmodes
