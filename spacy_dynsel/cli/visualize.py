"""A page that shows how much evidence each word took, and what decided."""

from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from spacy import displacy
from spacy.cli._util import Arg, Opt
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from wasabi import msg

from ..errors import Errors
from ..model_file import write_file
from ..pipeline.component import DynselComponent
from ..pipeline.ner import DynselNER
from ..pipeline.parser import DynselParser
from ..tasks.model import Explanation
from ..tasks.transitions import ParseExplanation
from .group import dynsel_cli

# How many of the templates of a decision to show.
N_SHOWN = 8


class Card(NamedTuple):
    """What is shown of a token: its label, how many templates each decision about it
    took, and the head and the rows of the table that appears."""

    label: str
    counts: list[int]
    summary: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dynsel_cli.command("visualize")
def visualize_cli(
    pipeline: str = Arg(..., help="Name or path of the pipeline"),
    text: str = Arg(..., help="Text to look at"),
    output_path: Path = Opt(
        Path("dynsel.html"), "--output", "-o", help="The page", dir_okay=False
    ),
) -> None:
    """
    Write a page that shows, for each word of a text, how many templates it took, what
    the second-best label was and which templates decided; and the entities and arcs.
    """
    page = render_page(load_model(pipeline), text)
    output_path.parent.mkdir(parents=True, exist_ok=True)
    write_file(output_path, page.encode("utf8"))
    msg.good(f"Page written: {output_path}")


def render_page(nlp: Language, text: str) -> str:
    """One HTML page, with nothing outside of it.

    nlp (Language): The pipeline.
    text (str): The text.
    RETURNS (str): The page.
    """
    sections = []
    doc = nlp.make_doc(text)
    if len(doc) == 0:
        raise ValueError(Errors.DS160)
    for name, component in nlp.pipeline:
        # Before the component itself, since those after it may change what it saw.
        if isinstance(component, DynselComponent):
            sections.append(_render_component(name, component, doc))
        doc = component(doc)
    if not sections:
        known = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.DS161.format(known=known))
    if doc.ents:
        markup = displacy.render(doc, style="ent", jupyter=False)
        sections.append(f"<h2>Entities</h2>\n{markup}")
    if doc.has_annotation("DEP"):
        spans = list(doc.sents)
        options = {"compact": True, "distance": 100}
        markup = displacy.render(spans, style="dep", jupyter=False, options=options)
        sections.append(f'<h2>Dependencies</h2>\n<div class="wide">{markup}</div>')
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return PAGE.format(lang=escape(nlp.lang), text=escape(text), style=STYLE, body=body)


def _render_component(name: str, component: Any, doc: Doc) -> str:
    if isinstance(component, DynselParser):
        unit, templates = "transition", component.engine.actions.templates
        cards = [_parse_card(one, doc) for one in component.explain(doc)]
    else:
        unit, templates = "word", component.engine.templates
        # Entities that are set stay when the component is called.
        options = {"keep_entities": True} if isinstance(component, DynselNER) else {}
        cards = [_label_card(one) for one in component.explain(doc, **options)]
    total, least = len(templates.templates), templates.checkpoints[0]

    def share(card: Card) -> float:
        """From 0 at the first checkpoint to 1 with all templates."""
        mean = fmean(card.counts or [least])
        return (mean - least) / max(1, total - least)

    words = "".join(
        _render_word(token.text, card, share(card))
        for token, card in zip(doc, cards, strict=True)
    )
    mean = fmean([count for card in cards for count in card.counts] or [0])
    return (
        f"<h2>{escape(name)}</h2>\n"
        f'<p class="note">{mean:.1f} of {total} templates for a {unit}, on average, and '
        f"at least {least}; margin {escape(str(component.margin))}.</p>\n"
        f'<div class="words" dir="auto">{words}</div>'
    )


def _label_card(explanation: Explanation) -> Card:
    strongest = sorted(
        explanation.contributions.items(),
        key=lambda item: abs(item[1][0] - item[1][1]),
        reverse=True,
    )
    second = explanation.runner_up or "-"
    summary = (
        f"{explanation.label} leads {second} by {explanation.lead:.2f} after "
        f"{explanation.n_templates} templates, stage {explanation.stage}"
    )
    if not explanation.stage:
        # White space, or an entity that was set before.
        summary = f"{explanation.label}: nothing had to be decided"
    return Card(
        explanation.label,
        [explanation.n_templates] if explanation.stage else [],
        summary,
        ("template", explanation.label, second),
        [
            (template, f"{own:+.2f}", f"{other:+.2f}")
            for template, (own, other) in strongest[:N_SHOWN]
        ],
    )


def _parse_card(explanation: ParseExplanation, doc: Doc) -> Card:
    transitions = explanation.transitions
    summary = explanation.label
    if explanation.label != "ROOT":
        summary += f" of {doc[explanation.head].text}"
    if explanation.reranked:
        summary += ", chosen by the reranker"
    if not transitions:
        summary += ": nothing had to be decided when it was read"
    return Card(
        explanation.label,
        [transition.n_templates for transition in transitions],
        summary,
        ("transition", "lead", "second", "templates"),
        [
            (
                f"{transition.action} {transition.label}".strip(),
                f"{transition.lead:.2f}",
                transition.runner_up,
                str(transition.n_templates),
            )
            for transition in transitions
        ],
    )


def _render_word(word: str, card: Card, share: float) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    table = row(card.header, "th") + "".join(row(cells, "td") for cells in card.rows)
    shown = word if word.strip() else "\N{OPEN BOX}"
    return (
        f'<div class="word" tabindex="0" style="--share:{share:.3f}">'
        f"<b>{escape(shown)}</b><i>{escape(card.label)}</i>"
        f'<div class="card"><em>{escape(shown)}: {escape(card.summary)}</em>'
        f"{f'<table>{table}</table>' if card.rows else ''}</div></div>"
    )


STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
  max-width: 60rem; margin: 2rem auto 12rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
.text { font-size: 1.1rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .2rem; }
.note { color: #555; margin: .2rem 0 .8rem; }
.scale { display: inline-block; width: 8rem; height: .8rem; margin: 0 .4rem;
  border: 1px solid #bbb; vertical-align: middle;
  background: linear-gradient(to right, hsl(28 90% 97%), hsl(28 90% 60%)); }
.words { position: relative; display: flex; flex-wrap: wrap; gap: .35rem; }
.word { padding: .1rem .45rem .2rem; border-radius: .3rem;
  border: 1px solid hsl(28 40% 80%); text-align: center; cursor: default;
  background: hsl(28 90% calc(97% - 37% * var(--share))); }
.word b { display: block; font-weight: 500; white-space: pre; }
.word i { display: block; font: normal .72rem ui-monospace, monospace; color: #333; }
.card { display: none; position: absolute; z-index: 1; top: calc(100% + .3rem);
  inset-inline-start: 0; width: max-content; max-width: 100%; box-sizing: border-box; padding: .6rem .8rem; text-align: start;
  background: #fff; border: 1px solid #999; border-radius: .4rem;
  box-shadow: 0 .3rem 1rem rgb(0 0 0 / 20%); font-size: .85rem; }
.word:hover .card, .word:focus .card { display: block; }
.card em { font-style: normal; font-weight: 600; }
.card table { border-collapse: collapse; margin-top: .4rem; }
.card th, .card td { padding: .05rem .8rem .05rem 0; text-align: start;
  font: .78rem ui-monospace, monospace; }
.card th { color: #666; border-bottom: 1px solid #ccc; }
.wide { overflow-x: auto; }
"""
PAGE = """\
<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>How much evidence each word took</title>
<style>
{style}</style>
</head>
<body>
<h1>How much evidence each word took</h1>
<p class="note">Decided at the first checkpoint<span class="scale"></span>with all
templates. Point at a word, or step to it with the tab key, to see what decided.</p>
<p class="text" dir="auto">{text}</p>
{body}
</body>
</html>
"""
