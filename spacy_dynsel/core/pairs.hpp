// Pairs of features that induction has found, see Choi (2016).
//
// The key of a pair is a hash of the keys of its members, so that its weights stand among
// those of all other features. Only members are tried with each other, and only where
// both know of such a partner: of all pairs of a decision's features few are looked up.
#pragma once
#include <cstdint>

#include "hashing.hpp"
#include "weight_table.hpp"

namespace dynsel {

// Model files depend on it, see hashing.hpp.
static constexpr uint64_t PAIR_SEED = 0x5061697273u;

// It does not depend on the order of the members.
static inline uint32_t pair_key(uint32_t one, uint32_t other) {
    return finish(mix(PAIR_SEED, one) + mix(PAIR_SEED, other));
}

// A feature that is a member of pairs. It knows its partners by a bit of each set.
struct Member {
    uint32_t key;
    uint32_t more;      // a set of 32 bits
    uint64_t partners;  // one of 64; 0 for an empty entry

    bool is_empty() const { return partners == 0; }

    void add(uint32_t partner) {
        partners |= uint64_t{1} << (partner >> 26);
        more |= uint32_t{1} << (partner >> 21 & 31);
    }

    // 1 if a feature may be a partner, else 0.
    uint32_t knows(uint32_t other) const {
        return static_cast<uint32_t>(partners >> (other >> 26)) &
               (more >> (other >> 21 & 31)) & 1;
    }
};

// Whether two members may be a pair: if so, its key is worth a look.
static inline bool may_pair(const Member& one, const Member& other) {
    return one.knows(other.key) & other.knows(one.key);
}

// The keys of all pairs that a member may make with others: there is room for one more
// than these are. Who passes is unpredictable, so that nothing depends on it but a place.
static inline int meet(
    const Member* others, int n, const Member& member, uint32_t* keys
) {
    int found = 0;
    for (int i = 0; i < n; ++i) {
        keys[found] = others[i].key;
        found += may_pair(others[i], member);
    }
    for (int i = 0; i < found; ++i) keys[i] = pair_key(keys[i], member.key);
    return found;
}

class MemberTable : public KeyTable<Member> {
  public:
    // What is known of a feature; it has no partners if it is not a member.
    Member look_up(uint32_t key) {
        const Member nobody{key, 0, 0};
        if (entries.empty()) return nobody;
        const Member* found = find(key);
        return found->is_empty() ? nobody : *found;
    }

    // Makes two features partners. They need room for two.
    void join(uint32_t one, uint32_t other) {
        add(one, other);
        add(other, one);
    }

  private:
    void add(uint32_t key, uint32_t partner) {
        Member* member = find(key);
        n_used += member->is_empty();
        member->key = key;
        member->add(partner);
    }
};

}  // namespace dynsel
