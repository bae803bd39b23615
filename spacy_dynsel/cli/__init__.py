"""The commands of the package: importing them puts them into spaCy's own command."""

from .annotate import annotate_cli
from .calibrate import calibrate_cli
from .checkpoints import checkpoints_cli
from .classes import classes_cli
from .clusters import clusters_cli
from .convert import convert_cli
from .distill import distill_cli
from .experiment import experiment_cli
from .group import dynsel_cli
from .induce import induce_cli
from .init_config import init_config_cli
from .jackknife import jackknife_cli
from .order import order_cli
from .reliability import reliability_cli
from .serve import serve_cli
from .visualize import visualize_cli

__all__ = [
    "annotate_cli",
    "calibrate_cli",
    "checkpoints_cli",
    "classes_cli",
    "clusters_cli",
    "convert_cli",
    "distill_cli",
    "dynsel_cli",
    "experiment_cli",
    "induce_cli",
    "init_config_cli",
    "jackknife_cli",
    "order_cli",
    "reliability_cli",
    "serve_cli",
    "visualize_cli",
]
