"""What of a parser is about links: templates, learners, weights and their files."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.settings import LearnerSettings
from ...base.system_errors import SystemErrors
from ...base.templates import Templates
from ...core.forms.line_table import ShortLineTable, check_table
from ...core.link_learner import LinkLearner
from ...core.model_file import require
from ...core.program import Program
from ..arc_eager.features import Features
from ..arc_eager.places import PLACES, TREE_PLACES
from ..classifier import Part, Stored, find_columns
from ..training_state import check_state
from .boosting import Boosting
from .model import KEEP_ALL, SCALE, LinkModel
from .settings import LinkSettings

FILTER_ETA = 0.1
FILTER_DELTA = 0.3
MAX_WEIGHT = 32767
TABLES = ("filter", "links")
# The places that templates of links may look at, beside the sibling.
PAIR_PLACES = ("0", "T", "H", "T-1", "T+1", "H-1", "H+1")
SIBLING = "P"
STATE_COLUMNS = ("distance", "between", "side")
# What depends on trees that are not known yet.
TREE_COLUMNS = (
    "label",
    "left_count",
    "right_count",
    "left_labels",
    "right_labels",
    "distance1",
    "previous",
    "position",
    "lead",
    "pair",
)


class LinkTables(NamedTuple):
    """Compiled weights of the filter and of links, and the filter's threshold, see
    LinkModel."""

    filter: ShortLineTable
    links: ShortLineTable
    alpha: float


class LinkPart(Part):
    """The links of a parser.

    pairs (Templates): The templates of a head H and its child T.
    siblings (Templates): Those that look at the next child P of H towards it, too; None if
        links are looked at by themselves.
    settings (LinkSettings): How to learn.
    """

    name = "links"

    def __init__(
        self,
        pairs: Templates,
        siblings: Templates | None,
        settings: LinkSettings,
    ) -> None:
        check_templates(pairs, PAIR_PLACES)
        if siblings is not None:
            check_templates(siblings, (*PAIR_PLACES, SIBLING))
            for template in siblings.templates:
                if all(atom.place != SIBLING for atom in template.atoms):
                    raise ValueError(SystemErrors.DS262.format(template=str(template)))
        self.pairs = pairs
        self.siblings = siblings
        self.link_settings = settings
        self.model: Any = None
        self._reset()

    def _reset(self) -> None:
        # They are there in training.
        self.filter_learner: Any = None
        self.learner: Any = None
        # Where links are learned by boosting.
        self.boosting: Boosting | None = None
        self._tables: LinkTables | None = None

    @property
    def columns(self) -> set[str]:
        """The columns that the templates look at."""
        lists = [self.pairs, *([] if self.siblings is None else [self.siblings])]
        return find_columns(*lists)

    def bind(self, lexical: list[str]) -> None:
        """Say which columns lexemes have."""
        self._lexical = lexical
        self.model = LinkModel(
            _bind(self.pairs, lexical),
            None if self.siblings is None else _bind(self.siblings, lexical),
            self.link_settings.max_heads,
            self.link_settings.epsilon,
        )

    def start(self, n_labels: int, settings: LearnerSettings) -> None:
        chosen = self.link_settings
        self.filter_learner = LinkLearner(FILTER_ETA, FILTER_DELTA)
        self.bind(self._lexical)
        self.boosting = None
        if chosen.training == "boosting":
            self.boosting = Boosting(chosen, settings.seed or 0)
            self.learner = LinkLearner(chosen.eta, chosen.delta, chosen.l1)
        else:
            self.learner = LinkLearner(chosen.eta, chosen.delta, averages=True)
        self._tables = None

    def copy(self) -> "LinkPart":
        other = super().copy()
        other.boosting = None if self.boosting is None else self.boosting.copy()
        return other

    def resume(self) -> None:
        """Go on from compiled weights: from now on trees are corrected as wholes, however
        links were learned."""
        tables, alpha = self._tables, self.model.alpha
        self.start(0, LearnerSettings())
        self.model.alpha = alpha
        self.boosting = None
        self.learner = LinkLearner(self.link_settings.eta, self.link_settings.delta)
        if tables is not None:
            for learner, table in zip(
                (self.filter_learner, self.learner), tables[:2], strict=True
            ):
                keys, weights = table.to_arrays()
                learner.correct_from(keys, weights.astype("float32") / SCALE)

    def resize(self, n_labels: int) -> None:
        """Links have no labels."""

    def fit_learners(self) -> None:
        """See resize."""

    def get_learners(self) -> dict[str, Any]:
        if self.learner is None:
            return {}
        return {"filter": self.filter_learner, "links": self.learner}

    def training_meta(self) -> dict[str, Any]:
        return {
            "learns": self.learner is not None,
            "alpha": self.model.alpha,
            "places": self.model.get_places(),
        }

    def start_again(self, meta: Any) -> None:
        check_state(isinstance(meta, dict), "it lacks its links")
        if meta.get("learns"):
            self.start(0, LearnerSettings())
            places: Any = meta.get("places")
            check_state(
                isinstance(meta.get("alpha"), float)
                and isinstance(places, list)
                and len(places) == len(self.model.get_places())
                and all(isinstance(n, int) and 0 <= n < 2**40 for n in places),
                "it lacks its threshold",
            )
            self.model.alpha = meta["alpha"]
            self.model.set_places(places)
            # The data of boosting are not kept: as in resume.
            self.boosting = None

    def forget(self) -> list[tuple[Any, str, Any]]:
        return [] if self.learner is None else [(self, "_tables", None)]

    def compile(self, **options: Any) -> LinkTables:
        if self._tables is None:
            self._tables = LinkTables(
                _compile(self.filter_learner),
                _compile(self.learner),
                self.model.alpha,
            )
        return self._tables

    def meta(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs.to_lines(),
            "siblings": None if self.siblings is None else self.siblings.to_lines(),
            "scale": SCALE,
            "alpha": self.compile().alpha,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {}
        for name in TABLES:
            keys, weights = getattr(self.compile(), name).to_arrays()
            arrays[f"{name}_keys"] = keys
            arrays[f"{name}_weights"] = weights.view("uint16")
        return arrays

    def load(self, stored: Stored) -> "LinkPart":
        meta, arrays = stored.meta, stored.arrays
        require(isinstance(meta, dict), "its links are malformed")
        require(meta.get("scale") == SCALE, "the scale of its links is not known")
        self.pairs.check_lines(meta.get("pairs"))
        found = meta.get("siblings")
        require((found is None) == (self.siblings is None), "its links are others")
        if self.siblings is not None:
            self.siblings.check_lines(found)
        tables: dict[str, ShortLineTable] = {}
        for name in TABLES:
            sections = {f"{name}_keys", f"{name}_weights"}
            require(sections <= set(arrays), "it lacks its links")
            keys, weights = arrays[f"{name}_keys"], arrays[f"{name}_weights"]
            check_table(keys, weights, "uint16")
            tables[name] = ShortLineTable(keys, weights.view("int16"))
        alpha = meta.get("alpha")
        require(
            isinstance(alpha, float) and KEEP_ALL <= alpha <= 1,
            "the threshold of its links is malformed",
        )
        loaded = self.blank()
        loaded.bind(self._lexical)
        loaded.model.alpha = alpha
        loaded._tables = LinkTables(**tables, alpha=alpha)
        return loaded


def check_templates(templates: Templates, places: tuple[str, ...]) -> None:
    """Raise an error unless templates look at what is known of links."""
    known: dict[str, Sequence[str]] = {
        column: [place for place in found if place in places]
        for column, found in PLACES["trees"].items()
        if column not in TREE_COLUMNS
    }
    templates.check_atoms(known)
    if len(templates.checkpoints) > 1:
        raise ValueError(SystemErrors.DS263.format(source=templates.source))


def _bind(templates: Templates, lexical: list[str]) -> Features:
    slots = dict.fromkeys(
        atom for template in templates.templates for atom in template.atoms
    )
    program = Program(templates, [], [], [], list(slots))
    return Features(program, TREE_PLACES, lexical)


def _compile(learner: LinkLearner) -> ShortLineTable:
    keys, values = learner.get_weights()
    weights = np.rint(values * SCALE).clip(-MAX_WEIGHT, MAX_WEIGHT)
    kept = weights != 0
    return ShortLineTable(keys[kept], weights[kept].astype("int16"))
