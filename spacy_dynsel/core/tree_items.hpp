// The parts of projective trees with one root that given links make.
//
// A forest has items: parts of trees. Each item is made of one or two smaller ones, in one
// way for each tree, so that sums over ways are sums over trees (Eisner 1996). walk names the
// items from the smallest to the whole, and visit the ways to make one.
//
// Only what the links can make and use has a place. A head's row ends at the farthest word
// that a chain of its links reaches, and where the links end that could span it; one place
// more is for the end of the sentence, where nothing has to span it. So with links of
// bounded length, items and time grow with the number of links.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace dynsel {

constexpr int32_t ROOT_HEAD = -1;

struct Link {
    int32_t head;  // or ROOT_HEAD
    int32_t child;
    int64_t score;
};

struct TreeItem {
    // A head with all it has up to a word on its right or its left; a link with what is
    // below it; two neighbouring siblings with what is between them; a tree.
    enum Kind : uint8_t { RIGHT, LEFT, LINK, SIBLINGS, TREE };

    Kind kind;
    int32_t at;   // the head; the number of the link or of the siblings
    int32_t end;  // of RIGHT and LEFT: the last word
    uint32_t id;
};

class TreeItems {
  public:
    static constexpr uint32_t NOTHING = 0xFFFFFFFF;

    int n = 0;
    // By head, the root's first; those to the left of a head, then those to its right; each
    // from the nearest on.
    std::vector<Link> links;
    std::vector<uint32_t> given;  // by link: its number when it was given
    // By link: the first of its sibling scores. There is one for the nearest child, and one
    // for each link of the same head and side that is nearer, from the nearest on.
    std::vector<uint32_t> sibling_starts;
    std::vector<int64_t> sibling_scores;  // empty: links alone count

    // Takes links that are all different.
    void set_links(int n_words, const Link* first, size_t n_links, bool with_siblings) {
        n = n_words;
        sort_links(first, n_links);
        find_reach();
        find_limits();
        sibling_starts.clear();
        sibling_scores.clear();
        pairs.clear();
        pair_of.clear();
        cells.clear();
        if (with_siblings) number_siblings();
        place_items(with_siblings);
        sort_cells();
        find_lowest();
    }

    bool has_siblings() const { return !sibling_starts.empty(); }

    // How many links of the same head and side are nearer than this one.
    uint32_t rank(uint32_t link) const {
        const Link& one = links[link];
        return link - side_start(one.head, one.child > one.head);
    }

  protected:
    uint32_t n_items() const {
        return first_pair + static_cast<uint32_t>(pairs.size()) + 1;
    }
    uint32_t side_start(int head, bool right) const { return sides[2 * (head + 1) + right]; }
    uint32_t side_end(int head, bool right) const {
        return sides[2 * (head + 1) + right + 1];
    }
    // Beyond the limit there is one place, for the end of the sentence.
    uint32_t right_of(int head, int end) const {
        return rows[1][head] + std::min(end, limits[1][head] + 1) - head;
    }
    uint32_t left_of(int head, int end) const {
        return rows[0][head] + head - std::max(end, limits[0][head] - 1);
    }
    bool has_right(int head, int end) const {
        return end <= limits[1][head] || (end == n - 1 && reach[1][head] == n - 1);
    }
    bool has_left(int head, int end) const {
        return end >= limits[0][head] || (end == 0 && reach[0][head] == 0);
    }
    uint32_t link_item(uint32_t link) const { return first_link + link; }

    static bool is_word(const TreeItem& item) {
        return item.kind <= TreeItem::LEFT && item.at == item.end;
    }

    // Names the ways to make an item.
    template <class F>
    void visit(const TreeItem& item, F&& found) const {
        switch (item.kind) {
            case TreeItem::RIGHT:
                for (uint32_t l = side_start(item.at, true); l < side_end(item.at, true); ++l) {
                    const int child = links[l].child;
                    if (child > item.end) break;
                    if (has_right(child, item.end))
                        found(link_item(l), right_of(child, item.end), 0);
                }
                break;
            case TreeItem::LEFT:
                for (uint32_t l = side_start(item.at, false); l < side_end(item.at, false);
                     ++l) {
                    const int child = links[l].child;
                    if (child < item.end) break;
                    if (has_left(child, item.end))
                        found(link_item(l), left_of(child, item.end), 0);
                }
                break;
            case TreeItem::LINK:
                visit_link(item.at, found);
                break;
            case TreeItem::SIBLINGS:
                meet(pairs[item.at].first, pairs[item.at].second, 0, found);
                break;
            case TreeItem::TREE:
                for (uint32_t l = side_start(ROOT_HEAD, true); l < side_end(ROOT_HEAD, true);
                     ++l)
                    found(link_item(l), NOTHING, 0);
                break;
        }
    }

    template <class F>
    void visit_link(uint32_t l, F&& found) const {
        const Link& link = links[l];
        if (link.head == ROOT_HEAD) {
            if (reach[0][link.child] == 0 && reach[1][link.child] == n - 1)
                found(left_of(link.child, 0), right_of(link.child, n - 1), link.score);
            return;
        }
        const bool right = link.child > link.head;
        if (!has_siblings()) {
            if (right)
                meet(link.head, link.child, link.score, found);
            else
                meet(link.child, link.head, link.score, found);
            return;
        }
        const int64_t* scores = sibling_scores.data() + sibling_starts[l];
        const uint32_t* siblings = pair_of.data() + sibling_starts[l];
        if (right && has_left(link.child, link.head + 1))
            found(right_of(link.head, link.head), left_of(link.child, link.head + 1),
                  link.score + scores[0]);
        if (!right && has_right(link.child, link.head - 1))
            found(right_of(link.child, link.head - 1), left_of(link.head, link.head),
                  link.score + scores[0]);
        const uint32_t nearest = side_start(link.head, right);
        for (uint32_t other = nearest; other < l; ++other) {
            const uint32_t i = other - nearest + 1;
            found(link_item(other), first_pair + siblings[i], link.score + scores[i]);
        }
    }

    // What two words have between them, divided at each place that both can reach.
    template <class F>
    void meet(int left, int right, int64_t weight, F&& found) const {
        const int first = std::max(left, limits[0][right] - 1);
        const int last = std::min(right - 1, limits[1][left]);
        for (int middle = first; middle <= last; ++middle)
            found(right_of(left, middle), left_of(right, middle + 1), weight);
    }

    // Names all items, each after those that it is made of.
    template <class F>
    void walk(F&& found) const {
        for (int last = 0; last < n; ++last) {
            uint32_t cell = cell_starts[last];
            for (int first = last; first >= lowest[last]; --first) {
                for (; cell < cell_starts[last + 1] && cells[cell].first == first; ++cell)
                    found(cells[cell].item);
                walk_span(first, last, found);
            }
            if (lowest[last] > 0) walk_span(0, last, found);
        }
        walk_roots(found);
        found({TreeItem::TREE, 0, 0, n_items() - 1});
    }

    template <class F>
    void walk_back(F&& found) const {
        found({TreeItem::TREE, 0, 0, n_items() - 1});
        walk_roots(found);
        for (int last = n - 1; last >= 0; --last) {
            uint32_t cell = cell_starts[last + 1];
            if (lowest[last] > 0) walk_span(0, last, found);
            for (int first = lowest[last]; first <= last; ++first) {
                walk_span(first, last, found);
                for (; cell > cell_starts[last] && cells[cell - 1].first == first; --cell)
                    found(cells[cell - 1].item);
            }
        }
    }

    template <class F>
    void walk_span(int first, int last, F&& found) const {
        if (has_right(first, last))
            found({TreeItem::RIGHT, first, last, right_of(first, last)});
        if (has_left(last, first))
            found({TreeItem::LEFT, last, first, left_of(last, first)});
    }

    template <class F>
    void walk_roots(F&& found) const {
        for (uint32_t l = side_start(ROOT_HEAD, true); l < side_end(ROOT_HEAD, true); ++l)
            found({TreeItem::LINK, static_cast<int32_t>(l), 0, link_item(l)});
    }

    TreeItem get_item(uint32_t id) const {
        if (id == n_items() - 1) return {TreeItem::TREE, 0, 0, id};
        if (id >= first_pair)
            return {TreeItem::SIBLINGS, static_cast<int32_t>(id - first_pair), 0, id};
        if (id >= first_link)
            return {TreeItem::LINK, static_cast<int32_t>(id - first_link), 0, id};
        const bool right = id < rows[0][0];
        const auto& starts = rows[right];
        const auto row = std::upper_bound(starts.begin(), starts.end(), id) - 1;
        const auto head = static_cast<int32_t>(row - starts.begin());
        const auto distance = static_cast<int32_t>(id - *row);
        if (right)
            return {TreeItem::RIGHT, head,
                    head + distance > limits[1][head] ? n - 1 : head + distance, id};
        return {TreeItem::LEFT, head,
                head - distance < limits[0][head] ? 0 : head - distance, id};
    }

  private:
    struct Cell {
        int32_t first, last;
        TreeItem item;
    };

    std::vector<uint32_t> sides;              // by head and side: its first link
    std::vector<int32_t> reach[2];            // by head: the farthest word, left and right
    std::vector<int32_t> limits[2];           // the same, within links that span it
    std::vector<int32_t> lowest;              // by last word: the first word of its items
    std::vector<uint32_t> rows[2];            // by head: its first LEFT and RIGHT
    uint32_t first_link = 0, first_pair = 0;  // their items
    std::vector<std::pair<int32_t, int32_t>> pairs;  // siblings: the left, the right one
    std::vector<uint32_t> pair_of;            // by sibling score
    std::vector<Cell> cells, cell_scratch;    // links and siblings, by last and first word
    std::vector<uint32_t> cell_starts;        // by last word
    std::vector<uint32_t> children, child_starts, marks, numbers;

    void sort_links(const Link* first, size_t n_links) {
        given.resize(n_links);
        for (size_t i = 0; i < n_links; ++i) given[i] = static_cast<uint32_t>(i);
        std::sort(given.begin(), given.end(), [first](uint32_t a, uint32_t b) {
            return sort_key(first[a]) < sort_key(first[b]);
        });
        links.resize(n_links);
        sides.assign(2 * static_cast<size_t>(n) + 3, 0);
        for (size_t i = 0; i < n_links; ++i) {
            links[i] = first[given[i]];
            ++sides[2 * (links[i].head + 1) + (links[i].child > links[i].head) + 1];
        }
        for (size_t i = 1; i < sides.size(); ++i) sides[i] += sides[i - 1];
    }

    static uint64_t sort_key(const Link& link) {
        const bool right = link.child > link.head;
        const int distance = right ? link.child - link.head : link.head - link.child;
        return static_cast<uint64_t>(link.head + 1) << 33 |
               static_cast<uint64_t>(right) << 32 | static_cast<uint32_t>(distance);
    }

    void find_reach() {
        for (auto& one : reach) one.resize(n);
        for (int head = 0; head < n; ++head) {
            reach[0][head] = head;
            for (uint32_t l = side_start(head, false); l < side_end(head, false); ++l)
                reach[0][head] = std::min(reach[0][head], reach[0][links[l].child]);
        }
        for (int head = n - 1; head >= 0; --head) {
            reach[1][head] = head;
            for (uint32_t l = side_start(head, true); l < side_end(head, true); ++l)
                reach[1][head] = std::max(reach[1][head], reach[1][links[l].child]);
        }
    }

    // A part of a tree that does not end where the sentence does stands below a link which
    // spans it.
    void find_limits() {
        for (auto& one : limits) one.resize(n);
        auto& [left, right] = limits;
        for (int word = 0; word < n; ++word) left[word] = right[word] = word;
        for (const Link& link : links) {
            if (link.head == ROOT_HEAD) continue;
            const int first = std::min(link.head, link.child);
            const int last = std::max(link.head, link.child);
            right[first] = std::max(right[first], last);
            left[last] = std::min(left[last], first);
        }
        int32_t end = 0;
        for (int word = 0; word < n; ++word) {
            end = std::max(end, right[word]);
            right[word] = std::min(reach[1][word], std::max(word, end - 1));
        }
        int32_t start = n - 1;
        for (int word = n - 1; word >= 0; --word) {
            start = std::min(start, left[word]);
            left[word] = std::max(reach[0][word], std::min(word, start + 1));
        }
    }

    // Where walk can stop.
    void find_lowest() {
        lowest.resize(n);
        for (int last = 0; last < n; ++last) {
            lowest[last] = limits[0][last];
            if (cell_starts[last + 1] > cell_starts[last])
                lowest[last] =
                    std::min(lowest[last], cells[cell_starts[last + 1] - 1].first);
        }
        for (int first = n - 1; first >= 0; --first)
            lowest[limits[1][first]] = std::min(lowest[limits[1][first]], first);
        int32_t start = n - 1;
        for (int last = n - 1; last >= 0; --last) {
            start = std::min(start, lowest[last]);
            lowest[last] = std::min(start, last);
        }
        lowest[n - 1] = 0;
    }

    // Gives a number to each two words that are children of one head, on one side of it.
    void number_siblings() {
        uint64_t n_scores = 0;
        sibling_starts.reserve(links.size() + 1);
        child_starts.assign(n + 2, 0);
        for (uint32_t l = 0; l < links.size(); ++l) {
            sibling_starts.push_back(static_cast<uint32_t>(n_scores));
            n_scores += links[l].head == ROOT_HEAD ? 0 : rank(l) + 1;
            ++child_starts[links[l].child + 2];
        }
        if (n_scores >= NOTHING) throw std::bad_alloc();
        sibling_starts.push_back(static_cast<uint32_t>(n_scores));
        sibling_scores.assign(n_scores, 0);
        pair_of.assign(n_scores, NOTHING);
        for (int i = 2; i < n + 2; ++i) child_starts[i] += child_starts[i - 1];
        children.resize(links.size());
        for (uint32_t l = 0; l < links.size(); ++l)
            children[child_starts[links[l].child + 1]++] = l;
        marks.assign(n, NOTHING);
        numbers.resize(n);
        for (int left = n - 1; left >= 0; --left)
            for (uint32_t i = child_starts[left]; i < child_starts[left + 1]; ++i) {
                const uint32_t l = children[i];
                const int head = links[l].head;
                if (head == ROOT_HEAD) continue;
                if (head < left)
                    for (uint32_t outer = l + 1; outer < side_end(head, true); ++outer)
                        pair_of[sibling_starts[outer] + 1 + rank(l)] =
                            number_pair(left, links[outer].child);
                else
                    for (uint32_t inner = side_start(head, false); inner < l; ++inner)
                        pair_of[sibling_starts[l] + 1 + rank(inner)] =
                            number_pair(left, links[inner].child);
            }
    }

    uint32_t number_pair(int left, int right) {
        if (marks[right] != static_cast<uint32_t>(left)) {
            marks[right] = left;
            numbers[right] = static_cast<uint32_t>(pairs.size());
            pairs.emplace_back(left, right);
        }
        return numbers[right];
    }

    void place_items(bool with_siblings) {
        uint64_t at = 0;
        for (int side : {1, 0}) {
            rows[side].resize(n);
            for (int head = 0; head < n; ++head) {
                rows[side][head] = static_cast<uint32_t>(at);
                at += std::abs(limits[side][head] - head) + 2;
                if (at >= NOTHING / 2) throw std::bad_alloc();
            }
        }
        first_link = static_cast<uint32_t>(at);
        at += links.size();
        first_pair = static_cast<uint32_t>(at);
        at += with_siblings ? pairs.size() : 0;
        if (at >= NOTHING - 1) throw std::bad_alloc();
    }

    // Links and siblings by their last word, then by their first one, the last first.
    void sort_cells() {
        cell_scratch.clear();
        for (uint32_t l = 0; l < links.size(); ++l) {
            const Link& link = links[l];
            if (link.head != ROOT_HEAD)
                cell_scratch.push_back(
                    {std::min(link.head, link.child), std::max(link.head, link.child),
                     {TreeItem::LINK, static_cast<int32_t>(l), 0, link_item(l)}});
        }
        for (uint32_t p = 0; p < pairs.size(); ++p)
            cell_scratch.push_back(
                {pairs[p].first, pairs[p].second,
                 {TreeItem::SIBLINGS, static_cast<int32_t>(p), 0, first_pair + p}});
        cells.resize(cell_scratch.size());
        count_into([this](const Cell& cell) { return n - 1 - cell.first; });
        cells.swap(cell_scratch);
        count_into([](const Cell& cell) { return cell.last; });
    }

    // Sorts the scratch into cells by a number below n, and keeps the order of equal ones.
    template <class F>
    void count_into(F&& key) {
        cell_starts.assign(n + 2, 0);
        for (const Cell& cell : cell_scratch) ++cell_starts[key(cell) + 2];
        for (int i = 2; i < n + 2; ++i) cell_starts[i] += cell_starts[i - 1];
        for (const Cell& cell : cell_scratch) cells[cell_starts[key(cell) + 1]++] = cell;
    }
};

}  // namespace dynsel
