"""Registered model builders. A .py file, since configs need real annotations."""

from typing import Any, Literal

from thinc.api import Model

from ..base.config_blocks import read_block
from ..base.settings import LearnerSettings, make_learner_settings
from ..base.templates import Templates, make_templates
from ..cascade.settings import CascadeSettings, make_cascade_settings
from ..pipeline.shim import wrap_engine
from ..tasks.arc_eager.engine import ParsingEngine
from ..tasks.bilou.engine import EntityEngine
from ..tasks.bilou.gazetteers import Gazetteers
from ..tasks.cascading.engine import CascadeEngine
from ..tasks.lemmas.engine import LemmaEngine
from ..tasks.links.engine import LinkEngine
from ..tasks.links.settings import LinkSettings, make_link_settings
from ..tasks.morphology.engine import MorphologyEngine
from ..tasks.tagging.engine import TaggingEngine
from ..tasks.word_classes import WordResources

# Plain settings, or what a registered function has made.
TemplatesBlock = dict | Templates
LearnerBlock = dict | LearnerSettings
CascadeBlock = dict | CascadeSettings
LinkBlock = dict | LinkSettings


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
    resources: WordResources | None = None,
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
    resources (WordResources): What raw text says about words, see
        spacy_dynsel.word_classes.v1. The model keeps what it needs.
    """
    engine = TaggingEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        folds=folds,
        resources=resources,
    )
    return wrap_engine("dynsel_tagger", engine)


def DynamicMorphologizer(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
    seeds: int,
    class_min_count: int,
    class_min_share: float,
    folds: int | None = None,
    resources: WordResources | None = None,
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
    folds (int), resources (WordResources): See DynamicTagger.
    """
    engine = MorphologyEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        seeds=seeds,
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        folds=folds,
        resources=resources,
    )
    return wrap_engine("dynsel_morphologizer", engine)


def CascadeTagger(  # noqa: N802
    templates: TemplatesBlock | None = None,
    cascade: CascadeBlock | None = None,
    class_min_count: int = 10,
    class_min_share: float = 0.4,
    cutoff: int = 2,
    copies: Literal["sentences", "documents", "both"] = "both",
    resources: WordResources | None = None,
) -> Model:
    """A structured prediction cascade, for a tagger or a morphologizer: the best of all
    label sequences by n-grams of labels, of which simpler models leave just a few. Its
    knob is alpha, and it has no margin.

    templates (dict or Templates): The templates, see make_templates. They read words, not
        labels. If missing, the list "cascade".
    cascade (dict or CascadeSettings): How to learn, see CascadeSettings.
    class_min_count (int): How often a word has to occur in the training data to have
        an ambiguity class.
    class_min_share (float): The share of a word's occurrences that a label needs to be
        part of its class.
    cutoff (int): How often a feature has to occur in the training data, unless these are
        small. Both copies of a doc count.
    copies (str): Which copies of the data to learn from: "sentences", "documents", or
        "both", which are the same where docs are single sentences.
    resources (WordResources): See DynamicTagger.
    """
    block: TemplatesBlock = {"default": "cascade"} if templates is None else templates
    settings: Any = read_block(
        "cascade", {} if cascade is None else cascade, make_cascade_settings
    )
    engine = CascadeEngine(
        _templates("templates", block),
        settings,
        class_min_count=class_min_count,
        class_min_share=class_min_share,
        cutoff=cutoff,
        copies=copies,
        resources=resources,
    )
    return wrap_engine("dynsel_cascade", engine)


def DynamicNER(  # noqa: N802
    templates: TemplatesBlock,
    learner: LearnerBlock,
    direction: Literal["ltr", "rtl"],
    seeds: int,
    gazetteers: Gazetteers | None = None,
    two_passes: bool = False,
    resources: WordResources | None = None,
) -> Model:
    """A linear entity recognizer with early exit.

    templates (dict or Templates): The templates, see make_templates.
    learner (dict or LearnerSettings): How to learn, see LearnerSettings.
    direction (str): How each sentence is read first: from left to right ("ltr") or
        from right to left ("rtl"). With one pass it matters more, and depends on the
        text: choose by the development data.
    seeds (int): How many learners to train at the same time, with different random
        choices; their weights are averaged, so that only training takes longer.
    gazetteers (Gazetteers): Lists of names, see spacy_dynsel.gazetteers.v1.
    two_passes (bool): Whether a second model, which sees what the first one found and
        how sure it was, reads each sentence in the opposite direction: more accurate,
        at twice the time. The direction is that of the first.
    resources (WordResources): See DynamicTagger.
    """
    engine = EntityEngine(
        _templates("templates", templates),
        _learner("learner", learner),
        direction=direction,
        seeds=seeds,
        gazetteers=gazetteers,
        two_passes=two_passes,
        resources=resources,
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
    resources: WordResources | None = None,
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
    resources (WordResources): See DynamicTagger.
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
        resources=resources,
    )
    return wrap_engine("dynsel_parser", engine)


def LinkParser(  # noqa: N802
    links: LinkBlock | None = None,
    pairs: TemplatesBlock | None = None,
    siblings: TemplatesBlock | None = None,
    with_siblings: bool = True,
    labels: TemplatesBlock | None = None,
    boundaries: TemplatesBlock | None = None,
    label_learner: LearnerBlock | None = None,
    resources: WordResources | None = None,
) -> Model:
    """A linear graph-based dependency parser, for dynsel_parser: the best of all projective
    trees, by the scores of links. It has exact answers where links are set or forbidden,
    several trees are wanted, or probabilities.

    links (dict or LinkSettings): How to learn links, see LinkSettings.
    pairs (dict or Templates): The templates of links, see make_templates. They look at the
        child T, at its head H and at their neighbours. If missing, the list "parser_links";
        "parser_links_paper" is that of Wang, Lin and Schuurmans (2007).
    siblings (dict or Templates): The templates of links with the next child P of the head.
        If missing, the list "parser_siblings".
    with_siblings (bool): Whether there are any.
    labels (dict or Templates), boundaries (dict or Templates): See DynamicParser. If
        missing, the lists "parser_labels" and "parser_boundaries".
    label_learner (dict or LearnerSettings): How to learn labels and boundaries.
    resources (WordResources): See DynamicTagger.
    """
    next_child = siblings or {"default": "parser_siblings"}
    settings: Any = read_block("links", links or {}, make_link_settings)
    engine = LinkEngine(
        _templates("pairs", pairs or {"default": "parser_links"}),
        _templates("siblings", next_child if with_siblings else None),
        _templates("labels", labels or {"default": "parser_labels"}),
        _templates("boundaries", boundaries or {"default": "parser_boundaries"}),
        settings,
        _learner("label_learner", label_learner or {"margin": 6.0, "prune": 2.0}),
        resources=resources,
    )
    return wrap_engine("dynsel_links", engine)


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
