"""Where the tokens are that a decision sees: the numbers of places, see places.pyx."""

cdef enum:
    # The place of the columns that belong to no token; the first one of all.
    STATE = 0
    # How far from a token the places of a boundary reach.
    BOUNDARY_REACH = 3
    N_BOUNDARY_PLACES = 2 * BOUNDARY_REACH + 2
    MAX_PLACES = 32

cdef enum:
    # About transitions.
    S0 = 1
    S1
    S2
    N0
    N1
    N2
    S0_BEFORE
    S0_AFTER
    N0_BEFORE
    S0_HEAD
    S1_HEAD
    S0_LEFT
    S0_LEFT2
    S0_LEFT_LEFT
    S0_RIGHT
    S0_RIGHT2
    S0_RIGHT_RIGHT
    S1_LEFT
    S1_LEFT2
    S1_RIGHT
    S1_RIGHT2
    N0_LEFT
    N0_LEFT2
    N_ACTION_PLACES

cdef enum:
    # About labels.
    D = 1
    H
    D_BEFORE
    D_AFTER
    H_BEFORE
    H_AFTER
    H_HEAD
    D_LEFT
    D_LEFT2
    D_LEFT_LEFT
    D_RIGHT
    D_RIGHT2
    D_RIGHT_RIGHT
    H_LEFT
    H_LEFT2
    H_RIGHT
    H_RIGHT2
    N_LABEL_PLACES

cdef enum:
    # About trees.
    T = 1
    T_HEAD
    T_GRANDPARENT
    T_SIBLING
    T_BEFORE
    T_AFTER
    T_HEAD_BEFORE
    T_HEAD_AFTER
    T_LEFT
    T_RIGHT
    T_HEAD_LEFT
    T_HEAD_RIGHT
    T_GREAT_GRANDPARENT
    N_TREE_PLACES
