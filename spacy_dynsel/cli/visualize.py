"""A page that shows how much evidence each word took, and what decided."""

from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from spacy.cli._util import Arg, Opt
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from wasabi import msg

from ..base.atomic import write_file
from ..report.drawing import ENTITY_STYLE, TREE_STYLE, draw_entities, draw_tree
from ..report.explained import Explained, Shown, make_table, make_text, show
from ..report.page import STYLE as PAGE_STYLE
from ..report.walk import find_share, walk
from .group import dynsel_cli


@dynsel_cli.command("visualize")
def visualize_cli(
    pipeline: str = Arg(..., help="Name or path of the pipeline"),
    text: str = Arg(..., help="Text to explain"),
    output_path: Path = Opt(
        Path("dynsel.html"), "--output", "-o", help="Page to write", dir_okay=False
    ),
    print_only: bool = Opt(
        False, "--print", "-p", help="Print tables instead of writing a page"
    ),
) -> None:
    """
    Write a page that shows, for each word of a text, how many templates it took, which
    label came second and which templates decided. It also shows entities and arcs.
    """
    nlp = load_model(pipeline)
    if print_only:
        print_tables(nlp, text)
        return
    page = render_page(nlp, text)
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

    def look(name: str, component: Any, doc: Doc, explained: Explained) -> None:
        sections.append(_render_component(name, component, doc, explained))

    doc = walk(nlp, text, look)
    if doc.ents:
        sections.append(f"<h2>Entities</h2>\n{draw_entities(doc)}")
    if doc.has_annotation("DEP"):
        trees = "\n".join(
            f'<div class="wide" tabindex="0">{draw_tree(sent)}</div>'
            for sent in doc.sents
        )
        sections.append(f"<h2>Dependencies</h2>\n{trees}")
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return PAGE.format(lang=escape(nlp.lang), text=escape(text), style=STYLE, body=body)


def print_tables(nlp: Language, text: str) -> None:
    """The same for the terminal."""

    def look(name: str, component: Any, doc: Doc, explained: Explained) -> None:
        msg.divider(name)
        print(make_text(doc, explained))

    walk(nlp, text, look)


def _render_component(name: str, component: Any, doc: Doc, explained: Explained) -> str:
    templates = component.engine.templates
    knob = "margin" if component.engine.has_margins else "alpha"
    shown = show(doc, explained)
    total, least = len(templates.templates), templates.checkpoints[0]

    words = "".join(
        _render_word(one, find_share(component, one.counts)) for one in shown
    )
    mean = fmean([count for one in shown for count in one.counts] or [0])
    return (
        f"<h2>{escape(name)}</h2>\n"
        f'<p class="note">{mean:.1f} of {total} templates for a {component.decision}, on average, and '
        f"at least {least}; {knob} {escape(str(getattr(component, knob)))}.</p>\n"
        f'<div class="words" dir="auto">{words}</div>\n'
        f"<details><summary>As a table</summary>{make_table(doc, explained)}</details>"
    )


def _render_word(shown: Shown, share: float) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    reasons = row(shown.header, "th") + "".join(row(one, "td") for one in shown.reasons)
    return (
        f'<div class="word" tabindex="0" style="--share:{share:.3f}">'
        f"<b>{escape(shown.word)}</b><i>{escape(shown.label)}</i>"
        f'<div class="card"><em>{escape(shown.word)}: {escape(shown.summary)}</em>'
        f"{f'<table>{reasons}</table>' if shown.reasons else ''}</div></div>"
    )


STYLE = (
    PAGE_STYLE
    + ENTITY_STYLE
    + TREE_STYLE
    + """\
:root { --exact: hsl(28 90% 60%); --early: hsl(28 90% 97%); --border: hsl(28 40% 80%);
  --deep: -37%; --start: 97%; --strength: 90%; }
@media (prefers-color-scheme: dark) {
  :root { --exact: hsl(28 75% 33%); --early: hsl(28 20% 13%); --border: hsl(28 20% 32%);
    --deep: 20%; --start: 13%; --strength: 75%; } }
body { margin-bottom: 12rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .2rem; }
p.text { font-size: 1.1rem; }
.note { color: var(--soft); margin: .2rem 0 .8rem; }
.scale { display: inline-block; width: 8rem; height: .8rem; margin: 0 .4rem;
  border: 1px solid var(--border); vertical-align: middle;
  background: linear-gradient(to right, var(--early), var(--exact)); }
.words { position: relative; display: flex; flex-wrap: wrap; gap: .35rem; }
.word { padding: .1rem .45rem .2rem; border-radius: .3rem;
  border: 1px solid var(--border); text-align: center; cursor: default;
  background: hsl(28 var(--strength) calc(var(--start) + var(--deep) * var(--share))); }
.word b { display: block; font-weight: 500; white-space: pre; }
.word i { display: block; font: normal .72rem ui-monospace, monospace; }
.card { display: none; position: absolute; z-index: 1; top: calc(100% + .3rem);
  inset-inline-start: 0; width: max-content; max-width: 100%; box-sizing: border-box;
  padding: .6rem .8rem; text-align: start; font-size: .85rem; overflow-x: auto;
  background: var(--ground); border: 1px solid var(--axis); border-radius: .4rem;
  box-shadow: 0 .3rem 1rem rgb(0 0 0 / 30%); }
.word:hover .card, .word:focus .card { display: block; }
.card em { font-style: normal; font-weight: 600; }
.card table { margin: .4rem 0 0; }
.card th, .card td { padding: .05rem .8rem .05rem 0; text-align: start; border: 0;
  font: .78rem ui-monospace, monospace; }
.card th { color: var(--soft); border-bottom: 1px solid var(--rule); }
details { margin-top: .6rem; } summary { color: var(--soft); cursor: pointer; }
details table { font-size: .85rem; }
"""
)
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
