"""The tagger as a pipeline component: spaCy's contract, and no arithmetic."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline.tagger import tagger_score
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..base.errors import Errors
from ..spacy_io.annotations import read_tags, write_tags
from ..spacy_io.tokens import (
    find_words,
    hand_on_starts,
    have_same_words,
    read_sent_starts,
)
from ..tasks.tagging.engine import (
    MISSING,
    NOT,
    SPACE_TAG,
    SPACE_TAG_NAME,
    Explanation,
    GoldDoc,
    TagBatch,
    TaggingModel,
)
from .component import (
    DynselComponent,
    Names,
    RecentDocs,
    as_list,
    get_seed,
    is_complete,
    read_examples,
)
from .confidences import TAG, write_tokens

TAG_ATTRIBUTE = "token.tag"


class TagNames(Names):
    """What tags are to spaCy, and what those of gold data stand for."""

    others = (SPACE_TAG_NAME,)

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__(labels)
        self.space = get_string_id(SPACE_TAG_NAME)
        self._index = {label: i for i, label in enumerate(labels)}
        # By string ID and prefix, as far as seen.
        self._known: dict[tuple[int, str], int | None] = {}

    def find(self, tag: int, prefix: str, strings: StringStore) -> int | None:
        """The label that a gold tag stands for, see TaggingExamples; None for none.

        tag (int): Its string ID.
        prefix (str): What marks a tag as known to be wrong.
        """
        if (tag, prefix) not in self._known:
            self._known[tag, prefix] = self.get(strings[tag], prefix)
        return self._known[tag, prefix]

    def get(self, tag: str, prefix: str) -> int | None:
        """The same for the name of a tag."""
        if not tag:
            return MISSING
        if tag in self._index:
            return self._index[tag]
        if prefix and tag.startswith(prefix) and tag[len(prefix) :] in self._index:
            return NOT - self._index[tag[len(prefix) :]]
        return None


class DynselTagger(DynselComponent):
    """Tags tokens by a linear model that reads, for each token, only as many feature
    templates as it needs. A replacement for spaCy's Tagger.

    White space gets the tag "_SP", which is no label: it is neither learned nor seen,
    and the words around it are neighbours.

    vocab (Vocab): The shared vocabulary.
    model (Model): The model, see spacy_dynsel.DynamicTagger.v1.
    name (str): The name of the component.
    margin (float or list[float]): The lead over the second-best label at which a
        decision is made: for all stages, or for each but the last. Infinity means
        that all templates are always used.
    n_threads (int): How many threads to use for a batch of docs.
    cache_size (int): The number of lexemes for which to keep what was worked out.
    overwrite (bool): Whether to replace tags that are set.
    neg_prefix (str): What marks a tag in the training data as known to be wrong.
    confidence (bool): Whether to say how likely each annotation is right, in
        token._.dynsel_confidence or span._.dynsel_confidence.
    keep_training_state (bool): Whether to save what learning needs to go on later as if
        it had not been interrupted.
    scorer (Callable): The scoring method.
    """

    architecture = "spacy_dynsel.DynamicTagger.v1"
    engine_type = TaggingModel
    names_type = TagNames

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "dynsel_tagger",
        *,
        margin: float | list[float] = 6.0,
        n_threads: int = 1,
        cache_size: int = 50_000,
        confidence: bool = False,
        keep_training_state: bool = False,
        overwrite: bool = False,
        neg_prefix: str = "!",
        scorer: Callable[..., dict[str, Any]] | None = tagger_score,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            margin=margin,
            n_threads=n_threads,
            cache_size=cache_size,
            scorer=scorer,
            confidence=confidence,
            keep_training_state=keep_training_state,
            neg_prefix=neg_prefix,
            overwrite=overwrite,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order in which they were added."""
        return self._kept_labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes."""
        return self.labels

    def set_annotations(
        self, docs: Iterable[Doc], batch_tag_ids: TagBatch | list[Any]
    ) -> None:
        """Set the tags of docs.

        docs (Iterable[Doc]): The docs.
        batch_tag_ids (TagBatch): What predict returned, or a list of such arrays.
        """
        docs = as_list(docs)
        if isinstance(batch_tag_ids, TagBatch):
            labels = batch_tag_ids.labels
        else:
            labels = np.concatenate(
                [np.zeros(0, "uint16"), *map(np.asarray, batch_tag_ids)]
            ).astype("uint16")
        n_tokens = sum(map(len, docs))
        if n_tokens != len(labels):
            raise ValueError(
                Errors.DS045.format(n_predictions=len(labels), n_tokens=n_tokens)
            )
        overwrite = bool(self.cfg["overwrite"])
        names = self._get_names_of(batch_tag_ids)
        with_leads = getattr(batch_tag_ids, "leads", None) is not None
        if with_leads and self.cfg["confidence"]:
            chosen = labels != SPACE_TAG
            if not overwrite:
                # Tags that are there stay, and nothing is known about them.
                chosen &= np.concatenate([[], *map(read_tags, docs)]) == 0
            values = self.get_probabilities(batch_tag_ids)
            write_tokens(docs, TAG, values, chosen)
        write_tags(docs, labels, names.ids, overwrite, names.space)

    def explain(self, doc: Doc) -> list[Explanation]:
        """Say for each token how its tag was found.

        doc (Doc): The doc, whose tags do not matter.
        RETURNS (list[Explanation]): For each token its label, lead, runner-up, stage,
            number of templates, and what each template contributed. Nothing is decided
            about white space: its lead is infinite.
        """
        return self._require_engine().explain(doc, self.margin)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Prepare for training: find the labels, ambiguity classes and features.

        get_examples (Callable): Gives the training data.
        nlp (Language): The pipeline.
        labels (list[str]): The labels; if missing, those of the data are used.
        """
        examples = read_examples(get_examples, "DynselTagger.initialize")
        util.check_lexeme_norms(self.vocab, "tagger")
        if labels is None:
            prefix = self.cfg["neg_prefix"]
            found = {
                tag
                for example in examples
                for tag in _tag_strings(example.reference)
                if not (prefix and tag.startswith(prefix))
            }
            labels = sorted(found)
        labels = list(dict.fromkeys([*self._known_labels, *labels]))
        for label in labels:
            self._check_label(label)
        if not labels:
            raise ValueError(Errors.DS042.format(name=self.name))

        def prepare(engine: TaggingModel, names: TagNames) -> None:
            golds = [self._get_gold(example, names) for example in examples]
            engine.initialize(
                names.labels,
                self.vocab,
                lambda: iter(golds),
                lang=self.vocab.lang if nlp is None else nlp.lang,
                count_features=is_complete(nlp),
                is_read=_is_read(nlp, self),
                seed=get_seed(nlp),
            )

        self._initialize(labels, prepare)

    def tag_for_training(self, docs: list[Doc]) -> None:
        """Tag docs for a component that learns from their tags: by a model that has not
        seen them, if there is one."""
        batch = self._require_engine().predict_in_training(docs)
        self.set_annotations(docs, self._predict(docs) if batch is None else batch)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples. The weights change at once: the learner is online and
        has its own step sizes, so that the optimizer is not used.

        examples (Iterable[Example]): The examples.
        drop (float): The probability with which each template is left out.
        sgd (Optimizer): Not used.
        losses (dict): Where to add the loss.
        RETURNS (dict): The losses.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "DynselTagger.update")
        engine = self._require_engine()
        names = self._get_names(engine.labels)
        golds = [self._get_gold(example, names) for example in examples]
        if any((gold.labels != MISSING).any() for gold in golds):
            losses[self.name] += engine.update(golds, drop=drop)
        self._just_updated = RecentDocs(engine, [gold.doc for gold in golds])
        return losses

    def add_label(self, label: str) -> int:
        """Add a label, before initialization.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        self._check_label(label)
        if label in self.labels:
            return 0
        if self.engine.is_initialized:
            raise ValueError(
                Errors.DS043.format(
                    name=self.name, label=label, n_labels=len(self.labels)
                )
            )
        return self._add_labels([label])

    def get_gold(self, example: Example) -> GoldDoc:
        """The gold labels of a predicted doc, aligned where the words differ."""
        return self._get_gold(example, self._get_names(self._known_labels))

    def _get_gold(self, example: Example, names: TagNames) -> GoldDoc:
        prefix = self.cfg["neg_prefix"]
        words = find_words(example.predicted)
        strings = example.reference.vocab.strings
        if have_same_words(example.predicted, example.reference):
            of_reference = find_words(example.reference)
            tags: list[Any] = read_tags(example.reference)[of_reference].tolist()
            found = {tag: names.find(tag, prefix, strings) for tag in set(tags)}
            starts = hand_on_starts(read_sent_starts(example.reference), of_reference)
        else:
            aligned = example.get_aligned("TAG", as_string=True)
            tags = [aligned[word] or "" for word in words]
            found = {tag: names.get(tag, prefix) for tag in set(tags)}
            given = [start or 0 for start in example.get_aligned_sent_starts()]
            starts = hand_on_starts(np.array(given, dtype="int32"), words)
        for tag, label in found.items():
            if label is None:
                name = tag if isinstance(tag, str) else strings[tag]
                raise ValueError(
                    Errors.DS046.format(
                        name=self.name, tag=name, n_labels=len(names.labels)
                    )
                )
        labels = np.full(len(example.predicted), MISSING, dtype="int32")
        labels.put(words, np.array([found[tag] for tag in tags], dtype="int32"))
        sent_starts = np.zeros(len(labels), dtype="int32")
        sent_starts.put(words, starts)
        return GoldDoc(example.predicted, labels, sent_starts)


def _tag_strings(doc: Doc) -> Iterator[str]:
    """The tags of the words of a doc."""
    for tag in np.unique(read_tags(doc)[find_words(doc)]).tolist():
        if tag:
            yield doc.vocab.strings[tag]


def _is_read(nlp: Language | None, tagger: DynselTagger) -> bool:
    """Whether a component that comes after a tagger, and is trained with it, reads its
    tags."""
    pipeline = [] if nlp is None else nlp.pipeline
    pipes = [pipe for _, pipe in pipeline]
    if nlp is None or not any(pipe is tagger for pipe in pipes):
        return False
    later = pipeline[[pipe is tagger for pipe in pipes].index(True) + 1 :]
    return any(TAG_ATTRIBUTE in nlp.get_pipe_meta(name).requires for name, _ in later)
