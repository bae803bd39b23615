"""Bars on a logarithmic scale, as SVG."""

import math
from html import escape

from spacy_dynsel.report.figure import COLOURS

WIDTH, LEFT, RIGHT, ROW = 720, 270, 90, 22


def draw_bars(groups: dict[str, dict[str, float]], unit: str) -> str:
    """A chart with a bar for each value.

    groups (dict): For each group, the values by name.
    unit (str): What is written below.
    """
    values = [value for group in groups.values() for value in group.values()]
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)) + 1e-9)
    n_rows = sum(len(group) + 1 for group in groups.values())
    bottom = ROW * n_rows + 14

    def across(value: float) -> float:
        share = (math.log10(value) - low) / max(1, high - low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" '
        f'role="img" aria-label="{escape(unit)}">',
        "<style>text{font:12px system-ui,sans-serif;fill:#333}"
        ".group{font-weight:600}.grid{stroke:#e3e3e3}</style>",
    ]
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{bottom}"/>'
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
            f'10<tspan dy="-5" font-size="9">{power}</tspan></text>'
        )
    y = 8
    for number, (title, group) in enumerate(groups.items()):
        parts.append(f'<text class="group" x="8" y="{y + 15}">{escape(title)}</text>')
        y += ROW
        for name, value in group.items():
            x = across(value)
            parts.append(
                f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}'
                f'</text><rect x="{LEFT}" y="{y + 2}" width="{max(1.0, x - LEFT):.1f}" '
                f'height="{ROW - 6}" fill="{COLOURS[number % len(COLOURS)]}"/>'
                f'<text x="{x + 6:.1f}" y="{y + 14}">{value:,.0f}</text>'
            )
            y += ROW
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{bottom + 36}" '
        f'text-anchor="middle">{escape(unit)}</text></svg>'
    )
    return "".join(parts)
