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
    const uint32_t low = one < other ? one : other;
    const uint32_t high = one < other ? other : one;
    return finish(mix(mix(PAIR_SEED, low), high));
}

struct Member {
    uint32_t key;
    uint64_t partners;  // the bits of all its partners; 0 for an empty entry

    bool is_empty() const { return partners == 0; }
};

static inline uint64_t get_bit(uint32_t key) { return uint64_t{1} << (key >> 26); }

// Whether two members may be a pair: if so, its key is worth a look.
static inline bool may_pair(const Member& one, const Member& other) {
    return (one.partners & get_bit(other.key)) != 0 &&
           (other.partners & get_bit(one.key)) != 0;
}

class MemberTable : public KeyTable<Member> {
  public:
    // What is known of a feature; it has no partners if it is not a member.
    Member look_up(uint32_t key) {
        Member found{key, 0};
        if (!entries.empty()) found.partners = find(key)->partners;
        return found;
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
        member->partners |= get_bit(partner);
    }
};

}  // namespace dynsel
