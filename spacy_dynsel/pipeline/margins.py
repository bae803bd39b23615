"""Exit margins as they stand in settings."""

import math
from typing import Any

from ..base.settings import check_margins
from ..tasks.engine import Margin


def read_margin(margin: Any, n_stages: int) -> Margin:
    """The exit margins that a setting stands for, or a clear error."""
    # Most often there is nothing to find out, and single docs would feel it.
    if type(margin) is float and margin >= 0:
        return margin
    if isinstance(margin, list | tuple):
        values: Any = [_to_number(one) for one in margin]
        check_margins(values, n_stages - 1)
        return values
    value = _to_number(margin)
    check_margins(value, n_stages - 1)
    return value


def write_margin(margin: Any, n_stages: int) -> Any:
    """Exit margins as a setting. JSON has no infinity."""
    value = read_margin(margin, n_stages)
    if isinstance(value, list):
        return ["inf" if math.isinf(one) else one for one in value]
    return "inf" if math.isinf(value) else value


def _to_number(margin: Any) -> Any:
    """A margin as a number, if it is one."""
    if margin == "inf":
        return math.inf
    if isinstance(margin, int) and not isinstance(margin, bool):
        return float(margin) if margin < 1e300 else math.inf
    return margin
