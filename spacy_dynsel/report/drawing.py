"""Entities and dependencies of a Doc as HTML and SVG that follow the colours of a page."""

from collections.abc import Sequence
from html import escape
from unicodedata import east_asian_width

from spacy.tokens import Doc, Span

# Hues that differ for most people who do not see all colours, and a name stands beside
# each of them anyway.
HUES = {
    **dict.fromkeys(("PER", "PERSON"), 215),
    **dict.fromkeys(("ORG", "ORGANIZATION", "NORP"), 285),
    **dict.fromkeys(("LOC", "GPE", "FAC", "LOCATION"), 150),
    **dict.fromkeys(("DATE", "TIME"), 185),
    **dict.fromkeys(("MONEY", "PERCENT", "QUANTITY", "CARDINAL", "ORDINAL"), 60),
    **dict.fromkeys(("PRODUCT", "WORK_OF_ART", "EVENT", "LAW", "LANGUAGE"), 345),
    "MISC": 35,
}
OTHER_HUES = (35, 345, 60, 185, 100, 250)
ENTITY_STYLE = """\
.entities { line-height: 2.3; white-space: pre-wrap; }
.entity { padding: .25em .4em; border-radius: .35em; color: inherit;
  background: hsl(var(--hue) 80% 88%); border: 1px solid hsl(var(--hue) 45% 55%); }
.entity span { font-size: .72em; font-weight: 700; margin-inline-start: .5em;
  color: hsl(var(--hue) 85% 22%); }
@media (prefers-color-scheme: dark) {
  .entity { background: hsl(var(--hue) 45% 22%); border-color: hsl(var(--hue) 40% 50%); }
  .entity span { color: hsl(var(--hue) 75% 80%); } }
"""
TREE_STYLE = """\
.tree { display: block; margin: .8rem 0 1.2rem; max-width: none; }
.tree text { fill: var(--text); text-anchor: middle; font: 14px system-ui, sans-serif; }
.tree .root { font-weight: 700; }
.tree .tag { fill: var(--soft); font: 11px ui-monospace, monospace; }
.tree .label { font-size: 11px; paint-order: stroke; stroke: var(--ground);
  stroke-width: 5px; }
.tree path { fill: none; stroke: var(--axis); stroke-width: 1.5px; }
.tree .arrow { fill: var(--axis); stroke: none; }
"""
# Of the drawing of a tree, in pixels.
LETTER, SMALL_LETTER, GAP, LEVEL, BELOW, EDGE = 8.4, 6.8, 16, 21, 44, 12
# How far beside the middle of a head its arcs start, and the radius of their corners.
BESIDE, CORNER = 6, 6
# What is left of the width of an arc for its label.
CORNERS = 2 * CORNER + BESIDE + 4


def draw_entities(doc: Doc) -> str:
    """The text of a doc with its entities marked."""
    labels = sorted({ent.label_ for ent in doc.ents if ent.label_.upper() not in HUES})
    hues = {label: OTHER_HUES[i % len(OTHER_HUES)] for i, label in enumerate(labels)}
    parts = []
    end = 0
    for ent in doc.ents:
        hue = HUES.get(ent.label_.upper(), hues.get(ent.label_))
        parts.append(escape(doc.text[end : ent.start_char]))
        parts.append(
            f'<mark class="entity" style="--hue:{hue}">{escape(ent.text)}'
            f"<span>{escape(ent.label_)}</span></mark>"
        )
        end = ent.end_char
    parts.append(escape(doc.text[end:]))
    return f'<div class="entities" dir="auto">{"".join(parts)}</div>'


def draw_tree(sent: Span) -> str:
    """The dependencies of a sentence, as wide as its words need."""
    words = [t.text if t.text.strip() else "\N{OPEN BOX}" for t in sent]
    tags = [token.tag_ or token.pos_ for token in sent]
    arcs = [
        (token.head.i - sent.start, token.i - sent.start, token.dep_)
        for token in sent
        if token.head.i != token.i
    ]
    centres, width = _place(words, tags, arcs)
    if sent.doc.vocab.writing_system["direction"] == "rtl":
        centres = [width - x for x in centres]
    levels = _find_levels(arcs)
    ground = EDGE + LEVEL * max(levels, default=0)
    height = ground + BELOW
    parts = []
    labels = []
    for (head, child, label), level in zip(arcs, levels, strict=True):
        right = 1 if centres[child] > centres[head] else -1
        x, end, top = (
            centres[head] + BESIDE * right,
            centres[child],
            ground - LEVEL * level,
        )
        turn = CORNER * right
        parts.append(
            f'<path d="M{x:.1f} {ground}V{top + CORNER}q0 {-CORNER} {turn} {-CORNER}'
            f'H{end - turn:.1f}q{turn} 0 {turn} {CORNER}V{ground - 5}"/>'
            f'<path class="arrow" d="M{end:.1f} {ground + 1}l-4 -8h8z"/>'
        )
        labels.append(
            f'<text class="label" x="{(x + end) / 2:.1f}" y="{top + 4}">'
            f"{escape(label)}</text>"
        )
    roots = {token.i - sent.start for token in sent if token.head.i == token.i}
    for i, (word, tag, x) in enumerate(zip(words, tags, centres, strict=True)):
        mark = ' class="root"' if i in roots else ""
        parts.append(
            f'<text{mark} x="{x:.1f}" y="{ground + 18}">{escape(word)}</text>'
            f'<text class="tag" x="{x:.1f}" y="{ground + 35}">{escape(tag)}</text>'
        )
    return (
        f'<svg class="tree" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="Dependencies of: {escape(sent.text)}">'
        f"{''.join(parts)}{''.join(labels)}</svg>"
    )


Arc = tuple[int, int, str]


def _place(
    words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc]
) -> tuple[list[float], float]:
    """The middle of each word, and the width of all."""
    sizes = [
        max(_measure(word, LETTER), _measure(tag, SMALL_LETTER))
        for word, tag in zip(words, tags, strict=True)
    ]
    needed = {
        (min(head, child), max(head, child)): _measure(label, SMALL_LETTER) + CORNERS
        for head, child, label in arcs
    }
    centres: list[float] = []
    x = float(EDGE)
    for i, size in enumerate(sizes):
        middle = x + size / 2
        # The label of an arc between neighbours has to fit between them.
        if i:
            middle = max(middle, centres[-1] + needed.get((i - 1, i), 0.0))
        centres.append(middle)
        x = middle + size / 2 + GAP
    return centres, x - GAP + EDGE


def _measure(text: str, letter: float) -> float:
    """About how wide a text is."""
    return letter * sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _find_levels(arcs: Sequence[Arc]) -> list[int]:
    """How high each arc is: above all that it spans or crosses and that are shorter."""
    levels = [0] * len(arcs)
    spans = [(min(head, child), max(head, child)) for head, child, _ in arcs]
    order = sorted(range(len(arcs)), key=lambda i: spans[i][1] - spans[i][0])
    for number, i in enumerate(order):
        below = [
            levels[j]
            for j in order[:number]
            if spans[j][0] < spans[i][1] and spans[i][0] < spans[j][1]
        ]
        levels[i] = 1 + max(below, default=0)
    return levels
