"""Tables and figures as one page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from typing import Any

from .figure import COLOURS

# What stands where a number would.
NO_NUMBER = ("", "-", "\N{INFINITY}")
# Names of colours, for light and for dark, and what all pages look like.
BASE_STYLE = """\
:root { color-scheme: light dark; --ground: #fff; --text: #222; --soft: #555;
  --faint: #767676; --rule: #e3e3e3; --axis: #888; --holds: #2c7a3f;
  --line0: #1b6ca8; --line1: #c8553d; --line2: #3c8d53; --line3: #7d5ba6; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16191d; --text: #e6e6e6; --soft: #b4b8bd; --faint: #949ba3;
    --rule: #353a41; --axis: #7d858e; --holds: #6fc583;
    --line0: #6cb4ee; --line1: #f08c75; --line2: #6fc583; --line3: #bb9ce6; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--ground); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; --shade: rgb(0 0 0 / 28%);
  background: linear-gradient(to right, var(--ground) 50%, transparent) local,
    linear-gradient(to left, var(--ground) 50%, transparent) right local,
    linear-gradient(to right, var(--shade), transparent) scroll,
    linear-gradient(to left, var(--shade), transparent) right scroll;
  background-size: 3rem 100%, 3rem 100%, .7rem 100%, .7rem 100%;
  background-repeat: no-repeat; }
@media (prefers-color-scheme: dark) { .wide { --shade: rgb(255 255 255 / 25%); } }
"""
STYLE = (
    BASE_STYLE
    + """\
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--rule); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { border-bottom: 2px solid var(--axis); }
thead th.group { border: 0; text-align: left; }
th.start, td.start { padding-left: 2.5rem; }
.paper { color: var(--faint); } .holds { color: var(--holds); }
.fails { color: var(--soft); }
figure { display: inline-block; width: 28rem; max-width: 100%; margin: 0; }
figcaption { font-size: .9rem; color: var(--soft); } .text { text-align: left !important; }
.wide td { white-space: nowrap; }
.wide td.long { white-space: normal; min-width: 12rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
figure text { fill: var(--text); } figure .ground { fill: var(--ground); }
figure .grid { stroke: var(--rule); } figure .axis { stroke: var(--axis); }
"""
    + "".join(
        f"figure path.line{i}, figure line.line{i} {{ stroke: var(--line{i}); }}\n"
        f"figure circle.line{i} {{ fill: var(--line{i}); }}\n"
        for i in range(len(COLOURS))
    )
)


def table(
    names: Sequence[str],
    ours: Sequence[Sequence[Any]],
    paper: Sequence[Sequence[Any]] = (),
) -> str:
    """A table with our rows on the left and the paper's on the right."""
    # The head of a column stands where its cells do.
    is_text = [
        any(_is_text(row[i]) for row in ours if i < len(row)) for i in range(len(names))
    ]
    head = "".join(
        f'<th class="text">{escape(name)}</th>' if left else f"<th>{escape(name)}</th>"
        for name, left in zip(names, is_text, strict=True)
    )
    groups = ""
    if paper:
        span = f'colspan="{len(names)}"'
        groups = (
            f'<tr><th class="group" {span}>here</th>'
            f'<th class="group paper start" {span}>the paper</th></tr>'
        )
        head += f'<th class="paper text start">{escape(names[0])}</th>'
        head += "".join(f'<th class="paper">{escape(name)}</th>' for name in names[1:])
    rows = []
    for i in range(max(len(ours), len(paper))):
        cells = [
            _cell(value, "text" if left else "")
            for value, left in zip(
                ours[i] if i < len(ours) else [], is_text, strict=False
            )
        ]
        cells += ["<td></td>"] * (len(names) - len(cells))
        if paper:
            other = [
                _cell(value, "paper" if column else "paper text start")
                for column, value in enumerate(paper[i] if i < len(paper) else [])
            ]
            cells += other + ["<td></td>"] * (len(names) - len(other))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide" tabindex="0"><table><thead>{groups}<tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def claims(rows: Sequence[dict[str, Any]]) -> str:
    """What the paper found, whether it is so here, and the numbers."""
    cells = "".join(
        f'<tr><td class="text long">{escape(row["claim"])}</td>'
        f'<td class="text {"holds" if row["holds"] else "fails"}">'
        f"{'holds' if row['holds'] else 'does not hold'}</td>"
        f'<td class="text long">{escape(row["numbers"])}</td></tr>'
        for row in rows
    )
    return (
        '<div class="wide" tabindex="0"><table><thead><tr><th>Claim</th>'
        '<th class="text">Here</th>'
        '<th class="text">Numbers</th></tr></thead>'
        f"<tbody>{cells}</tbody></table></div>"
    )


def settings(values: dict[str, Any]) -> str:
    pairs = "".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in values.items()
    )
    return f"<dl>{pairs}</dl>"


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """A whole page.

    sections (Sequence): Headings and what stands below them.
    """
    body = "".join(f"<h2>{escape(name)}</h2>{text}" for name, text in sections)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _is_text(value: Any) -> bool:
    """Whether a value is not a number, however it is written."""
    return isinstance(value, str) and not value[:1].isdigit() and value not in NO_NUMBER


def _cell(value: Any, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    if value is None:
        text = "&ndash;"
    elif isinstance(value, float):
        text = f"{value:.2f}"
    else:
        text = escape(str(value))
    return f"<td{mark}>{text}</td>"
