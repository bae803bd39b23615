"""Slow and obvious: all projective trees with one root, one by one."""

from functools import cache


@cache
def all_trees(n):
    """The heads of all projective trees of n words; the root's is -1."""
    return [heads for heads in _divide(0, n, -1) if heads.count(-1) == 1]


@cache
def _divide(start, end, head):
    """All ways to divide a range of words into trees that hang on one head, as the heads of
    the words."""
    if start == end:
        return [()]
    return [
        (*before, head, *below, *after)
        for stop in range(start + 1, end + 1)
        for root in range(start, stop)
        for before in _divide(start, root, root)
        for below in _divide(root + 1, stop, root)
        for after in _divide(stop, end, head)
    ]


def links_of(heads):
    return [(head, child) for child, head in enumerate(heads)]


def siblings_of(heads):
    """Each word with its head and the child of that which stands before it, seen from the
    head, or -1."""
    found = []
    for child, head in enumerate(heads):
        if head == -1:
            continue
        step = 1 if child > head else -1
        nearer = [
            word for word in range(head + step, child, step) if heads[word] == head
        ]
        found.append((head, nearer[-1] if nearer else -1, child))
    return found


def score_tree(heads, links, siblings):
    """RETURNS (int): The score, or None if there is a link that is not given."""
    if any(link not in links for link in links_of(heads)):
        return None
    score = sum(links[link] for link in links_of(heads))
    return score + sum(siblings.get(part, 0) for part in siblings_of(heads))


def score_trees(n, links, siblings):
    """All trees that the links make, with their scores, from the best on."""
    scored = [(score_tree(heads, links, siblings), heads) for heads in all_trees(n)]
    return sorted((one for one in scored if one[0] is not None), reverse=True)
