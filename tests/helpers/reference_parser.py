"""The arc-eager transition system, slow and obvious."""

from functools import cache
from typing import NamedTuple

SHIFT, REDUCE, LEFT, RIGHT = range(4)


class State(NamedTuple):
    """A state that waits for a decision, or the last one.

    stack (tuple): The tokens on the stack, the top at the end.
    buffer (tuple): The tokens that are to be read, or one that came back.
    came_back (bool): Whether that is so.
    heads (tuple): For each token its head, or None.
    """

    stack: tuple[int, ...]
    buffer: tuple[int, ...]
    came_back: bool
    heads: tuple[int | None, ...]


def first_state(n: int) -> State:
    return settle(State((), tuple(range(n)), False, (None,) * n))


def settle(state: State) -> State:
    """Do what needs no decision."""
    stack, buffer, came_back, heads = state
    while True:
        if not buffer:
            if len(stack) <= 1:
                break
            if heads[stack[-1]] is None:
                buffer, came_back = stack[-1:], True
            stack = stack[:-1]
        elif not stack:
            if came_back:
                break
            stack, buffer = buffer[:1], buffer[1:]
        else:
            break
    return State(stack, buffer, came_back, heads)


def is_final(state: State) -> bool:
    return not (state.stack and state.buffer)


def get_valid(state: State) -> list[int]:
    valid = [RIGHT]
    valid.append(LEFT if state.heads[state.stack[-1]] is None else REDUCE)
    if len(state.buffer) > 1:
        valid.append(SHIFT)
    return sorted(valid)


def apply(state: State, action: int) -> State:
    (*rest, top), (front, *waiting) = state.stack, state.buffer
    heads = list(state.heads)
    if action == SHIFT:
        new = State((*rest, top, front), tuple(waiting), False, tuple(heads))
    elif action == REDUCE:
        new = state._replace(stack=tuple(rest))
    elif action == LEFT:
        heads[top] = front
        new = state._replace(stack=tuple(rest), heads=tuple(heads))
    else:
        heads[front] = top
        new = State((*rest, top, front), tuple(waiting), False, tuple(heads))
    return settle(new)


def get_costs(state: State, gold: tuple[int | None, ...]) -> dict[int, int]:
    """How many gold arcs each valid action puts out of reach, counted one by one. The
    token after the last one stands for the head of roots."""
    n = len(gold)
    top, front = state.stack[-1], state.buffer[0]
    unread = [] if state.came_back else [*state.buffer]
    real = [n if head == i else head for i, head in enumerate(gold)]
    waiting = [i for i in state.stack if state.heads[i] is None]
    of_top = sum(real[i] == top for i in state.buffer)
    of_front = sum(real[i] == front for i in waiting)
    costs = {
        SHIFT: of_front + (real[front] in state.stack),
        REDUCE: of_top,
        LEFT: of_top + (real[top] != front and real[top] in (*unread, n)),
        RIGHT: of_front
        + (real[front] != top and real[front] in (*state.stack, *unread, n)),
    }
    return {action: costs[action] for action in get_valid(state)}


def count_wrong(heads, gold) -> int:
    """How many tokens have another head than the one that is known; None stands for
    the root in heads, and for what is not known in gold, where roots are their own
    heads."""
    return sum(
        head != (None if right == i else right)
        for i, (head, right) in enumerate(zip(heads, gold, strict=True))
        if right is not None
    )


@cache
def get_loss(state: State, gold: tuple[int | None, ...]) -> int:
    """The fewest wrong heads among all parses that a state can lead to."""
    if is_final(state):
        return count_wrong(state.heads, gold)
    return min(get_loss(apply(state, a), gold) for a in get_valid(state))


def get_best(state: State, gold: tuple[int | None, ...]) -> list[int]:
    """The actions after which the best parse is still within reach."""
    best = get_loss(state, gold)
    return [a for a in get_valid(state) if get_loss(apply(state, a), gold) == best]


def is_projective(heads) -> bool:
    """By the definition: a token between a head and its dependent descends from the
    head."""

    def ancestors(token):
        while heads[token] != token:
            token = heads[token]
            yield token

    return all(
        head in (token, *ancestors(between))
        for token, head in enumerate(heads)
        for between in range(min(token, head) + 1, max(token, head))
    )
