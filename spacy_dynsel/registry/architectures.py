"""Registered model builders. A .py file, since configs need real annotations."""

from typing import Any, Literal

from thinc.api import Model

from ..base.config_blocks import read_block
from ..base.settings import LearnerSettings, make_learner_settings
from ..base.templates import Templates, make_templates
from ..pipeline.shim import wrap_engine
from ..tasks.arc_eager.engine import ParsingEngine
from ..tasks.bilou.engine import EntityEngine
from ..tasks.bilou.gazetteers import Gazetteers
from ..tasks.lemmas.engine import LemmaEngine
from ..tasks.morphology.engine import MorphologyEngine
from ..tasks.tagging.engine import TaggingEngine

# Plain settings, or what a registered function has made.
TemplatesBlock = dict | Templates
LearnerBlock = dict | LearnerSettings


def _templates(name: str, block: TemplatesBlock | None) -> Any:
    return read_block(name, block, make_templates)


def _learner(name: str, block: LearnerBlock) -> Any:
    return read_block(name, block, make_learner_settings)


def DynamicTagger(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
    class_min_count: int,
    class_min_share: float,
    folds: int | None = None,
) -> Model:
    """A linear tagger with early exit.

    templates (dict or Templates): The templates, see make_templates.
    learner (dict or LearnerSettings): How to learn, see LearnerSettings.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class.
    class_min_share (float): The share of a word's occurrences that a tag needs to be
        part of its class.
    folds (int): For components that read tags and are trained at the same time: the
        number of taggers, each of which leaves out a part of the training data and
        annotates just that part. What a tagger says about docs that it has learned
        from is too good to learn from. Without any, training takes less time. If
        missing, there are 4 where a component after the tagger asks for them.
    """
    engine = TaggingEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        folds=folds,
    )
    return wrap_engine("dynsel_tagger", engine)


def DynamicMorphologizer(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
    seeds: int,
    class_min_count: int,
    class_min_share: float,
    folds: int | None = None,
) -> Model:
    """A linear morphologizer with early exit. The score of a label is the sum over its
    parts, the part of speech and each feature, and over the whole.

    templates (dict or Templates): The templates, see make_templates. Those before the
        first checkpoint read the word alone.
    learner (dict or LearnerSettings): How to learn, see LearnerSettings. Since a label
        has several parts, its margin is larger than that of a tagger.
    seeds (int): How many learners to train at the same time, with different random
        choices; their weights are averaged, so that only training takes longer.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class.
    class_min_share (float): The share of a word's occurrences that a label needs to be
        part of its class.
    folds (int): See DynamicTagger.
    """
    engine = MorphologyEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        seeds=seeds,
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        folds=folds,
    )
    return wrap_engine("dynsel_morphologizer", engine)


def DynamicNER(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
    direction: Literal["ltr", "rtl"],
    seeds: int,
    gazetteers: Gazetteers | None = None,
    two_passes: bool = False,
) -> Model:
    """A linear entity recognizer with early exit.

    templates (dict or Templates): The templates, see make_templates.
    learner (dict or LearnerSettings): How to learn, see LearnerSettings.
    direction (str): How each sentence is read: from left to right ("ltr") or from
        right to left ("rtl"). Which is better depends on the text: choose by the
        development data.
    seeds (int): How many learners to train at the same time, with different random
        choices; their weights are averaged, so that only training takes longer.
    gazetteers (Gazetteers): Lists of names, see spacy_dynsel.gazetteers.v1.
    two_passes (bool): Whether a second model, which sees what the first one found and
        how sure it was, reads each sentence in the opposite direction: more accurate,
        at twice the time. The direction is that of the first.
    """
    engine = EntityEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        direction=direction,
        seeds=seeds,
        gazetteers=gazetteers,
        two_passes=two_passes,
    )
    return wrap_engine("dynsel_ner", engine)


def DynamicParser(  # noqa: N802
    actions: TemplatesBlock,
    labels: TemplatesBlock,
    boundaries: TemplatesBlock,
    learner: LearnerBlock,
    label_learner: LearnerBlock,
    seeds: int,
    branches: TemplatesBlock | None = None,
    trees: TemplatesBlock | None = None,
    folds: int = 0,
) -> Model:
    """A linear transition-based dependency parser with early exit.

    actions (dict or Templates): The templates for transitions, see make_templates.
    labels (dict or Templates): The templates for the labels of arcs.
    boundaries (dict or Templates): The templates for where sentences start.
    learner (dict or LearnerSettings): How to learn transitions and boundaries. Its
        predicted_history says how often training goes on from a wrong transition of
        the parser's own.
    label_learner (dict or LearnerSettings): How to learn labels.
    seeds (int): How many learners to train at the same time, with different random
        choices; their weights are averaged, so that only training takes longer.
    branches (dict or Templates), trees (dict or Templates): What the reranker looks at
        when it has to choose between two trees: the decision at which they part, and
        the tokens for which they differ.
    folds (int): How many parsers, each of which leaves out a part of the training
        data, make the trees that the reranker learns from. 0 means: no reranker, and
        training that takes a quarter of the time.
    """
    engine = ParsingEngine(
        _templates("actions", actions),
        _templates("labels", labels),
        _templates("boundaries", boundaries),
        _learner("learner", learner),
        _learner("label_learner", label_learner),
        seeds=seeds,
        branches=_templates("branches", branches),
        trees=_templates("trees", trees),
        folds=folds,
    )
    return wrap_engine("dynsel_parser", engine)


def DynamicLemmatizer(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
) -> Model:
    """A linear lemmatizer with early exit.

    templates (dict or Templates): The templates, see make_templates.
    learner (dict or LearnerSettings): How to learn, see LearnerSettings.
    """
    engine = LemmaEngine(
        _templates("templates", templates), _learner("learner", learner)
    )
    return wrap_engine("dynsel_lemmatizer", engine)
