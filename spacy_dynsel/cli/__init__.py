"""The commands of the package: importing them puts them into spaCy's own command."""

from .convert import convert_cli
from .group import dynsel_cli
from .jackknife import jackknife_cli
from .visualize import visualize_cli

__all__ = ["convert_cli", "dynsel_cli", "jackknife_cli", "visualize_cli"]
