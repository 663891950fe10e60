// The degrees of clusters: how much weight their nodes' edges have, and how much of it stays inside.
#pragma once

#include <cstdint>

namespace lapmodes {

// indptr (n + 1), indices, weights IN: a CSR graph; labels (n) IN; degree, within (clusters) IN/OUT: the weight of all
// edges of each cluster's nodes is added, and that of the edges inside it.
template <class T>
void add_cluster_degrees(const std::int64_t* indptr, const std::int32_t* indices, const T* weights,
                         const std::int32_t* labels, std::int64_t n, double* degree, double* within) {
    for (std::int64_t v = 0; v < n; ++v) {
        double all = 0, inside = 0;
        for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
            all += weights[e];
            if (labels[indices[e]] == labels[v]) inside += weights[e];
        }
        degree[labels[v]] += all;
        within[labels[v]] += inside;
    }
}

}  // namespace lapmodes
