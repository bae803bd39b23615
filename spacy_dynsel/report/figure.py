"""Line charts as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 16, 52
COLOURS = ("#1b6ca8", "#c8553d", "#3c8d53", "#7d5ba6")


@dataclass(frozen=True)
class Line:
    """A line of a chart.

    name (str): What the legend calls it.
    points (Sequence): Pairs of x and y.
    colour (int): The number of its colour.
    dashed (bool): Whether it is dashed.
    errors (Sequence): How far a shade goes above and below each point, if there is one.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    dashed: bool = False
    errors: Sequence[float] = ()


def draw(
    lines: Sequence[Line],
    x_name: str,
    y_name: str,
    *,
    legend_on_top: bool = False,
    bounds: tuple[float, float] | None = None,
    unit: str = "",
) -> str:
    """A chart of some lines, with a legend at the right, at the bottom or on top.

    bounds (tuple): Where both axes start and end, if not where the points do.
    unit (str): What stands after the numbers of the axes.
    """
    points = [point for line in lines for point in line.points]
    xs, ys = ([point[i] for point in points] for i in (0, 1))
    x_ticks = _ticks(*bounds) if bounds else _ticks(min(xs), max(xs))
    y_ticks = _ticks(*bounds) if bounds else _ticks(_floor(ys), max(ys))
    low_x, high_x, low_y, high_y = x_ticks[0], x_ticks[-1], y_ticks[0], y_ticks[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / ((high_x - low_x) or 1)
        up = (y - low_y) / ((high_y - low_y) or 1)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(y_name)} against {escape(x_name)}">',
        "<style>text{font:12px system-ui,sans-serif;fill:#333}"
        ".grid{stroke:#e3e3e3}.axis{stroke:#888}</style>",
        f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP - 4}" '
        f'width="{WIDTH - LEFT - RIGHT + 4}" height="{HEIGHT - TOP - BOTTOM + 4}"/>'
        "</clipPath>",
    ]
    for tick in y_ticks:
        x, y = place(low_x, tick)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" '
            f'y2="{y:.1f}"/><text x="{x - 6:.1f}" y="{y + 4:.1f}" '
            f'text-anchor="end">{tick:g}{unit}</text>'
        )
    for tick in x_ticks:
        x, y = place(tick, low_y)
        parts.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" '
            f'y2="{y + 4:.1f}"/><text x="{x:.1f}" y="{y + 18:.1f}" '
            f'text-anchor="middle">{tick:g}{unit}</text>'
        )
    x, y = place(low_x, low_y)
    parts.append(
        f'<path class="axis" fill="none" d="M{x:.1f} {TOP}V{y:.1f}H{WIDTH - RIGHT}"/>'
        f'<text x="{(LEFT + WIDTH) / 2:.1f}" y="{HEIGHT - 10}" '
        f'text-anchor="middle">{escape(x_name)}</text>'
        f'<text transform="translate(14 {(HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_name)}</text>'
    )
    for number, line in enumerate(lines):
        colour = COLOURS[line.colour % len(COLOURS)]
        # By which a page may give it another colour, on a dark background.
        mark = f'class="line{line.colour % len(COLOURS)}"'
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        places = [place(*point) for point in line.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append('<g clip-path="url(#plot)">')
        if line.errors:
            edges = list(zip(line.points, line.errors, strict=True))
            outline = [place(x, y + error) for (x, y), error in edges]
            outline += [place(x, y - error) for (x, y), error in reversed(edges)]
            shade = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            parts.append(f'<polygon points="{shade}" fill="{colour}" opacity="0.2"/>')
        parts.append(
            f'<path {mark} d="M{path}" fill="none" '
            f'stroke="{colour}" stroke-width="2"{dash}/>'
        )
        parts += [
            f'<circle {mark} cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
            for x, y in places
        ]
        parts.append("</g>")
        y = HEIGHT - BOTTOM - 14 - 17 * (len(lines) - 1 - number)
        if legend_on_top:
            y = TOP + 12 + 17 * number
        x = WIDTH - RIGHT - 218
        parts.append(
            f'<rect class="ground" x="{x - 6}" y="{y - 12}" width="222" height="17" '
            f'fill="#fff" opacity="0.85"/>'
            f'<line {mark} x1="{x}" x2="{x + 28}" y1="{y - 4}" y2="{y - 4}" '
            f'stroke="{colour}" stroke-width="2"{dash}/>'
            f'<text x="{x + 36}" y="{y}">{escape(line.name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _floor(ys: Sequence[float]) -> float:
    """Where the y axis starts: very bad points are left out of the picture."""
    ordered = sorted(ys)
    middle = ordered[len(ordered) // 2]
    return max(ordered[0], middle - 6 * max(0.5, ordered[-1] - middle))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from about the lowest to about the highest."""
    span = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(span / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (factor * step) <= 6)
    first = math.floor(low / step + 1e-9)
    last = max(first + 1, math.ceil(high / step - 1e-9))
    return [round(i * step, 10) for i in range(first, last + 1)]
