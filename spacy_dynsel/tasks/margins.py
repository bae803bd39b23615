"""Margins as predictions compare them."""

import math

from ..core.leads import NEVER


def scale_margins(
    margin: float | list[float], n_stages: int, scale: float
) -> list[int]:
    """Margins as the integers that scores are compared with, for each stage but the
    last."""
    if not isinstance(margin, (list, tuple)):
        return [_scale_margin(margin, scale)] * (n_stages - 1)
    return [_scale_margin(one, scale) for one in margin]


def _scale_margin(margin: float, scale: float) -> int:
    scaled = margin * scale
    return NEVER if scaled > 1 << 16 else math.ceil(scaled)
