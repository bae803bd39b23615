"""What gold trees look like, in linear time."""
from libc.stdint cimport int32_t
from libcpp.vector cimport vector


def classify_tree(const int32_t[::1] heads not None) -> str:
    """Say what kind of tree, or of several trees side by side, some heads make.

    heads (array): For each token the index of its head, its own for a root, or -1 where
        it is not known, which is as good as a root.
    RETURNS (str): "projective", "crossing" or "cyclic".
    """
    cdef int n = <int>heads.shape[0]
    cdef vector[int] n_open      # dependents that have not been seen
    cdef vector[int] sizes       # of the tree below a token, and its ends
    cdef vector[int] left
    cdef vector[int] right
    cdef vector[int] ready
    cdef int token, head
    cdef int n_done = 0
    cdef bint is_projective = True
    n_open.resize(n)
    sizes.assign(n, 1)
    left.resize(n)
    right.resize(n)
    for token in range(n):
        if heads[token] >= n:
            raise IndexError(heads[token])
        left[token] = token
        right[token] = token
        if heads[token] >= 0 and heads[token] != token:
            n_open[heads[token]] += 1
    for token in range(n):
        if n_open[token] == 0:
            ready.push_back(token)
    while not ready.empty():
        token = ready.back()
        ready.pop_back()
        n_done += 1
        is_projective &= sizes[token] == right[token] - left[token] + 1
        head = heads[token]
        if head >= 0 and head != token:
            sizes[head] += sizes[token]
            left[head] = min(left[head], left[token])
            right[head] = max(right[head], right[token])
            n_open[head] -= 1
            if n_open[head] == 0:
                ready.push_back(head)
    if n_done < n:
        return "cyclic"
    return "projective" if is_projective else "crossing"
