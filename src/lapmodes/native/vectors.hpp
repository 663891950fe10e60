// Short vectors of the width that the instruction set has. GCC and Clang keep them in registers;
// elsewhere they are small arrays that the compiler may or may not vectorise.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lapmodes::LAPMODES_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

#if defined(__GNUC__)

template <class T, int W>
struct VecOf {
    typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T, int W>
using Vec = typename VecOf<T, W>::type;

template <class T, int W>
inline Vec<T, W> larger(Vec<T, W> a, Vec<T, W> b) {
    return a > b ? a : b;
}
template <class T, int W>
inline Vec<T, W> smaller(Vec<T, W> a, Vec<T, W> b) {
    return a < b ? a : b;
}
// `value` where x is positive, 0 elsewhere
template <class T, int W>
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value) {
    return x > 0 ? value : Vec<T, W>{};
}
template <class T, int W>
inline Vec<T, W> splat(T a) {
    return a - Vec<T, W>{};
}
#if defined(__clang__) || __GNUC__ >= 12
template <int S, class V, int... I>
inline V swapped(V a, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, a, (I ^ S)...);
}
template <int First, class V, int... I>
inline auto part(V a, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, a, (First + I)...);
}
#else
template <int S, class V, int... I>
inline V swapped(V a, std::integer_sequence<int, I...>) {
    return __builtin_shuffle(a, decltype(a < a){(I ^ S)...});
}
template <int First, class V, int... I>
inline auto part(V a, std::integer_sequence<int, I...>) {
    using T = std::decay_t<decltype(a[0])>;
    return Vec<T, sizeof...(I)>{a[First + I]...};
}
#endif
// Folds all lanes by a function of two vectors; the order of the sums is fixed.
template <class T, int W, int S = W / 2, class F>
inline T fold(Vec<T, W> a, F f) {
    if constexpr (S == 0)
        return a[0];
    else
        return fold<T, W, S / 2>(f(a, swapped<S>(a, std::make_integer_sequence<int, W>{})), f);
}
// sums (W) += a, by halves where doubles are wider than a register
template <class T, int W>
inline void add_as_double(Vec<T, W> a, double* sums) {
    if constexpr (W * sizeof(double) > kVectorBytes && W > 1) {
        constexpr auto half = std::make_integer_sequence<int, W / 2>{};
        add_as_double<T, W / 2>(part<0>(a, half), sums);
        add_as_double<T, W / 2>(part<W / 2>(a, half), sums + W / 2);
    } else {
        Vec<double, W> total;
        std::memcpy(&total, sums, sizeof total);
        total += __builtin_convertvector(a, Vec<double, W>);
        std::memcpy(sums, &total, sizeof total);
    }
}

#else

template <class T, int W>
struct Vec {
    T lane[W];
    T& operator[](int i) { return lane[i]; }
    template <class F>
    static Vec map(F f) {
        Vec out;
        for (int i = 0; i < W; ++i) out.lane[i] = f(i);
        return out;
    }
    friend Vec operator+(Vec a, Vec b) { return map([&](int i) { return a.lane[i] + b.lane[i]; }); }
    friend Vec operator-(Vec a, Vec b) { return map([&](int i) { return a.lane[i] - b.lane[i]; }); }
    friend Vec operator*(Vec a, Vec b) { return map([&](int i) { return a.lane[i] * b.lane[i]; }); }
    friend Vec operator*(T a, Vec b) { return map([&](int i) { return a * b.lane[i]; }); }
    friend Vec operator-(Vec a, T b) { return map([&](int i) { return a.lane[i] - b; }); }
    Vec& operator+=(Vec b) { return *this = *this + b; }
};
template <class T, int W>
inline Vec<T, W> larger(Vec<T, W> a, Vec<T, W> b) {
    return Vec<T, W>::map([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <class T, int W>
inline Vec<T, W> smaller(Vec<T, W> a, Vec<T, W> b) {
    return Vec<T, W>::map([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <class T, int W>
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value) {
    return Vec<T, W>::map([&](int i) { return x.lane[i] > 0 ? value.lane[i] : T(0); });
}
template <class T, int W>
inline Vec<T, W> splat(T a) {
    return Vec<T, W>::map([&](int) { return a; });
}
template <class T, int W, int S = W / 2, class F>
inline T fold(Vec<T, W> a, F f) {
    if constexpr (S == 0)
        return a.lane[0];
    else
        return fold<T, W, S / 2>(f(a, Vec<T, W>::map([&](int i) { return a.lane[i ^ S]; })), f);
}
template <class T, int W>
inline void add_as_double(Vec<T, W> a, double* sums) {
    for (int i = 0; i < W; ++i) sums[i] += static_cast<double>(a.lane[i]);
}

#endif

template <class T, int W>
inline Vec<T, W> load(const T* at) {
    Vec<T, W> out;
    std::memcpy(&out, at, sizeof out);
    return out;
}
template <class T, int W>
inline void store(T* at, Vec<T, W> a) {
    std::memcpy(at, &a, sizeof a);
}
template <class T, int W>
inline T sum_of(Vec<T, W> a) {
    return fold<T, W>(a, [](auto x, auto y) { return x + y; });
}
template <class T, int W>
inline T largest_of(Vec<T, W> a) {
    return fold<T, W>(a, [](auto x, auto y) { return larger<T, W>(x, y); });
}
template <class T, int W>
inline T smallest_of(Vec<T, W> a) {
    return fold<T, W>(a, [](auto x, auto y) { return smaller<T, W>(x, y); });
}

inline void prefetch(const void* at) {
#ifdef __GNUC__
    __builtin_prefetch(at);
#else
    (void)at;
#endif
}

// How a row of K entries is cut into vectors: at 0, W, 2 W, ... and the last one at K - W, overlapping the one
// before. Elementwise work may do the shared entries twice; sums count them once, through `once`.
template <class T, int Width, int Vectors>
struct Cut {
    static constexpr int W = Width;
    static constexpr int kFixed = Vectors;  // 0: any number of vectors
    using V = Vec<T, W>;

    explicit Cut(std::int64_t k) : k(k), count(Vectors > 0 ? Vectors : (k + W - 1) / W) {
        T keep[W];
        for (int l = 0; l < W; ++l) keep[l] = k - W + l >= (count - 1) * W ? T(1) : T(0);
        once = load<T, W>(keep);
    }
    std::int64_t size() const { return Vectors > 0 ? Vectors : count; }
    std::int64_t at(std::int64_t r) const { return r + 1 < size() ? r * W : k - W; }
    V counted(std::int64_t r, V a) const { return r + 1 < size() ? a : where_positive<T, W>(once, a); }

    std::int64_t k, count;
    V once;
};

// Calls body(cut) with the widest vectors that fit into a row, and a fixed number of them for short rows.
template <class T, class Body>
void with_cut(std::int64_t k, Body body) {
    constexpr int widest = kVectorBytes / sizeof(T);
    const auto of_width = [&]<int W>(std::integral_constant<int, W>) {
        switch ((k + W - 1) / W) {
            case 1: return body(Cut<T, W, 1>(k));
            case 2: return body(Cut<T, W, 2>(k));
            case 3: if constexpr (W == widest) return body(Cut<T, W, 3>(k)); break;
            case 4: if constexpr (W == widest) return body(Cut<T, W, 4>(k)); break;
            case 5: if constexpr (W == widest) return body(Cut<T, W, 5>(k)); break;
            default: break;
        }
        if constexpr (W == widest) body(Cut<T, W, 0>(k));
    };
    if (k >= widest) return of_width(std::integral_constant<int, widest>{});
    if constexpr (widest > 8) if (k >= 8) return of_width(std::integral_constant<int, 8>{});
    if constexpr (widest > 4) if (k >= 4) return of_width(std::integral_constant<int, 4>{});
    if constexpr (widest > 2) if (k >= 2) return of_width(std::integral_constant<int, 2>{});
    of_width(std::integral_constant<int, 1>{});
}

}  // namespace lapmodes::LAPMODES_ISA
