"""Keeps results."""

import json
from typing import Any

from wasabi import msg

from training import HERE


def save_results(name: str, results: dict[str, Any]) -> None:
    output = HERE / "results" / f"{name}.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(results, indent=2) + "\n")
    msg.good("Saved the results", str(output))
