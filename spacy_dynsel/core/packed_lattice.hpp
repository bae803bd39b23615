// The n-grams that are left, as a cascade in use has them. Memory is 16 bytes an edge.
#pragma once
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace dynsel {

struct PackedEdge {
    uint32_t target;
    uint32_t node;  // whose label comes next
    int64_t score;
};

// The n-grams that are possible, as in Lattice: states are (n-1)-grams, and edges n-grams.
struct PackedLattice {
    int order = 2;
    size_t n_edges = 0;
    std::vector<uint32_t> columns;  // the first state of each column, and the end
    std::vector<uint32_t> outs;     // the first edge out of each state, and the end
    std::vector<uint64_t> grams;    // the labels of each state
    std::vector<PackedEdge> edges;

    size_t n_states() const { return columns.back(); }

    void start(int n) {
        order = n;
        columns.clear();
        outs.clear();
        grams.clear();
        columns.push_back(0);
        n_edges = 0;
    }

    void add_state(uint64_t gram) {
        outs.push_back(static_cast<uint32_t>(n_edges));
        grams.push_back(gram);
    }

    // Room for more edges; those beyond n_edges are not used yet.
    PackedEdge* make_room(size_t n) {
        if (n_edges + n >= 0xFFFFFFFF) throw std::bad_alloc();
        if (edges.size() < n_edges + n) edges.resize(std::max(n_edges + n, 2 * n_edges));
        return edges.data() + n_edges;
    }
};

}  // namespace dynsel
