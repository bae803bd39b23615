"""By how much decisions are won, as integers."""
from libcpp.vector cimport vector

from .typedefs cimport score_t

cpdef enum:
    # A margin that no lead reaches: the stage never decides, and rules out no label.
    NEVER = 1 << 17
    # The lead of a label that has no rival. No other lead is as large.
    NO_RIVAL = 1 << 20
    # What stands for a lead where nothing is decided, as about white space.
    NO_DECISION = NO_RIVAL + 1


cdef inline int get_margin(const int* margins, int stage, int n_stages) noexcept nogil:
    """The lead with which a stage decides; smaller ones need the next stage. The last
    stage decides with any lead.

    margins: [n_stages - 1]
    """
    return margins[stage] if stage + 1 < n_stages else 0


cdef inline int find_lead(
    const score_t* scores, const score_t* limits, int width, int label
) noexcept nogil:
    """By how much a label leads over the best other valid one.

    limits: [width] The largest score_t for a valid label, else the smallest.
    """
    cdef int i
    cdef int best = -32768
    for i in range(width):
        if i != label and limits[i] > 0 and scores[i] > best:
            best = scores[i]
    return NO_RIVAL if best == -32768 else scores[label] - best


cdef inline int fill_limits(vector[score_t]& limits, int n_labels, int width) except -1:
    """Fill the limits of find_lead where all labels are valid."""
    cdef int i
    limits.assign(width, <score_t>-32768)
    for i in range(n_labels):
        limits[i] = 32767
    return 0
