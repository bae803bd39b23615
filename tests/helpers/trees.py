"""Random trees."""

from hypothesis import strategies as st


@st.composite
def projective_trees(draw, max_size=8):
    """Heads of a projective tree; the root is its own head."""

    def make(start, end, head):
        """Divide a range into trees that hang on one head."""
        while start < end:
            stop = draw(st.integers(start + 1, end))
            root = draw(st.integers(start, stop - 1))
            heads[root] = head
            make(start, root, root)
            make(root + 1, stop, root)
            start = stop

    n = draw(st.integers(1, max_size))
    heads = [0] * n
    root = draw(st.integers(0, n - 1))
    heads[root] = root
    make(0, root, root)
    make(root + 1, n, root)
    return heads
