"""What explain() of a component says, as tables with two decimals: as plain text, as
HTML, and as a page of its own.

    print(make_text(doc, tagger.explain(doc)))
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from spacy.tokens import Doc
from wasabi import table as text_table

from ..base.errors import Errors
from ..tasks.arc_eager.explain import ParseExplanation
from ..tasks.explanation import Explanation
from .page import page, table

# How many of the templates of a decision to name, in a row and in a table of their own.
N_NAMED = 3
N_SHOWN = 8
# In a terminal, the width from which on the line below a header is no longer.
MAX_COLUMN = 80
LABEL_HEADER = (
    *("word", "label", "lead", "second", "stage", "templates"),
    "for the label, against the second",
)
ARC_HEADER = (
    *("word", "label", "head", "weakest lead", "templates", "reranked"),
    "transitions, with leads",
)

Explained = Sequence[Explanation | ParseExplanation]


class Shown(NamedTuple):
    """What is shown of a token.

    word (str): The word.
    label (str): What it was given.
    counts (list[int]): How many templates each decision about it took.
    cells (tuple): Its row in a table.
    summary (str): How it was decided, in a few words.
    header (tuple), reasons (list): A table that says why.
    """

    word: str
    label: str
    counts: list[int]
    cells: tuple[str, ...]
    summary: str
    header: tuple[str, ...]
    reasons: list[tuple[str, ...]]


def show(doc: Doc, explained: Explained) -> list[Shown]:
    """What is shown of each token of a doc.

    doc (Doc): The doc.
    explained (list): What explain() of a tagger, an entity recognizer or a parser says
        about it.
    """
    if len(doc) != len(explained):
        raise ValueError(Errors.DS223.format(n_tokens=len(doc), n_found=len(explained)))
    return [
        _show_label(i, one, doc)
        if isinstance(one, Explanation)
        else _show_arc(i, one, doc)
        for i, one in enumerate(explained)
    ]


def make_text(doc: Doc, explained: Explained) -> str:
    """Make a table for the terminal.

    doc (Doc): The doc.
    explained (list): What explain() of a component says about it.
    RETURNS (str): The table.
    """
    shown = show(doc, explained)
    header = _header(explained)
    aligns = ["r" if name in RIGHT else "l" for name in header]
    rows = [one.cells for one in shown]
    return str(
        text_table(rows, header=header, divider=True, aligns=aligns, max_col=MAX_COLUMN)
    )


def make_table(doc: Doc, explained: Explained) -> str:
    """A table in HTML; see show."""
    return table(_header(explained), [one.cells for one in show(doc, explained)])


def make_page(doc: Doc, explained: Mapping[str, Explained]) -> str:
    """A page that needs nothing else.

    explained (Mapping): For the name of each component what its explain() says.
    """
    sections = [(name, make_table(doc, one)) for name, one in explained.items()]
    text = f'<p dir="auto">{escape(doc.text)}</p>'
    return page("What decided", [("Text", text), *sections])


RIGHT = {"lead", "stage", "templates", "weakest lead"}


def _header(explained: Explained) -> tuple[str, ...]:
    is_tree = any(isinstance(one, ParseExplanation) for one in explained)
    return ARC_HEADER if is_tree else LABEL_HEADER


def _word(doc: Doc, i: int) -> str:
    """A token as it can be seen."""
    return doc[i].text if doc[i].text.strip() else "\N{OPEN BOX}"


def _number(value: float) -> str:
    """A lead; there is none that could be measured where nothing else was possible."""
    return "\N{INFINITY}" if math.isinf(value) else f"{value:.2f}"


def _show_label(i: int, explanation: Explanation, doc: Doc) -> Shown:
    strongest = sorted(
        explanation.contributions.items(),
        key=lambda item: abs(item[1][0] - item[1][1]),
        reverse=True,
    )
    second = explanation.runner_up or "-"
    lead = _number(explanation.lead)
    summary = (
        f"{explanation.label} leads {second} by {lead} after "
        f"{explanation.n_templates} templates, stage {explanation.stage}"
    )
    if not explanation.stage:
        # White space, or an entity that was set before.
        summary = f"{explanation.label}: nothing had to be decided"
    return Shown(
        word=_word(doc, i),
        label=explanation.label,
        counts=[explanation.n_templates] if explanation.stage else [],
        cells=(
            *(_word(doc, i), explanation.label, lead, second),
            *(str(explanation.stage), str(explanation.n_templates)),
            ", ".join(
                f"{template} {own - other:+.2f}"
                for template, (own, other) in strongest[:N_NAMED]
            ),
        ),
        summary=summary,
        header=("template", explanation.label, second),
        reasons=[
            (template, f"{own:+.2f}", f"{other:+.2f}")
            for template, (own, other) in strongest[:N_SHOWN]
        ],
    )


def _show_arc(i: int, explanation: ParseExplanation, doc: Doc) -> Shown:
    transitions = explanation.transitions
    is_root = explanation.head == i
    head = "-" if is_root else _word(doc, explanation.head)
    summary = explanation.label if is_root else f"{explanation.label} of {head}"
    if explanation.reranked:
        summary += ", chosen by the reranker"
    if not transitions:
        summary += ": nothing had to be decided when it was read"
    counts = [transition.n_templates for transition in transitions]
    names = [f"{one.action} {one.label}".strip() for one in transitions]
    leads = [_number(transition.lead) for transition in transitions]
    return Shown(
        word=_word(doc, i),
        label=explanation.label,
        counts=counts,
        cells=(
            *(_word(doc, i), explanation.label, head),
            _number(explanation.weakest_lead) if transitions else "-",
            str(sum(counts)),
            "yes" if explanation.reranked else "no",
            ", ".join(
                f"{name} {lead}" for name, lead in zip(names, leads, strict=True)
            ),
        ),
        summary=summary,
        header=("transition", "lead", "second", "templates"),
        reasons=[
            (name, lead, transition.runner_up, str(transition.n_templates))
            for name, lead, transition in zip(names, leads, transitions, strict=True)
        ],
    )
