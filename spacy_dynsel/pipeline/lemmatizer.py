"""The lemmatizer as a pipeline component: spaCy's contract, and no arithmetic."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.pipeline.lemmatizer import lemmatizer_score
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ..base.errors import Errors
from ..base.settings import check_choice, check_number
from ..base.warnings import Warnings
from ..confidence.maps import ConfidenceMap
from ..spacy_io.annotations import read_lemmas
from ..spacy_io.lemmas import (
    NO_LEMMA,
    TABLE_LEMMA,
    read_pos_and_morphs,
    write_lemmas,
)
from ..spacy_io.tokens import find_bare, find_words, have_same_words
from ..tasks.engine import MIN_TOKENS_FOR_CUTOFF
from ..tasks.lemmas.decode import LemmaBatch
from ..tasks.lemmas.engine import LemmaEngine
from ..tasks.lemmas.gold import GoldLemmas
from ..tasks.lemmas.scripts import find_script, read_script
from ..tasks.lemmas.tables import Tables, read_lookups
from .component import DynselComponent, Verdicts, as_list, join_labels
from .confidences import LEMMA, write_tokens
from .names import POS_ATTRIBUTE, Names, check_label
from .settings import Setting

# Sets parts of speech, and does not say so.
RULER = "attribute_ruler"
# What stands for a lemma that is missing.
NO_TEXT = ("", "_")
BACKOFFS = ("orth", "lower", "norm")


class ScriptNames(Names):
    """Scripts, of which spaCy need not know."""

    is_transient = False

    def keep(self, vocab: Vocab) -> None:
        """Do nothing: no token has a script as its annotation."""


class DynselLemmatizer(DynselComponent):
    """Lemmatizes words by a linear model that reads, for each word, only as many feature
    templates as it needs. A replacement for spaCy's EditTreeLemmatizer
    ("trainable_lemmatizer") and Lemmatizer ("lemmatizer").

    A lemma depends on the word, its token.pos and its token.morph. Labels are scripts
    that make a lemma of a form, such as "lower ies>y$". White space is its own lemma.

    See DynselComponent for the settings that all components have; cache_size counts
    words with their parts of speech and features.

    model (Model): The model, see spacy_dynsel.DynamicLemmatizer.v1.
    overwrite (bool): Whether to replace lemmas that are set.
    backoff (str): The attribute of a token that becomes its lemma where no script
        applies: "orth", "lower" or "norm"; None leaves such tokens without a lemma.
    min_tree_freq (int): How often a script has to occur in the training data to be
        learned. Small data are used as they are.
    """

    architecture = "spacy_dynsel.DynamicLemmatizer.v1"
    engine_type = LemmaEngine
    gold_attribute = "LEMMA"
    gold_missing = "no token has a lemma"
    names_type = ScriptNames
    # What an initialization has been given.
    _given_tables: Tables | None = None
    # Whether parts of speech are those of the reference.
    _takes_gold_pos = True
    # Whether the data of the last initialization had some that were not taken.
    _gives_up_pos = False
    _has_warned = False
    _has_warned_of_lemma = False

    defaults: ClassVar[dict[str, Any]] = {
        **DynselComponent.defaults,
        "margin": 4.0,
        "overwrite": False,
        "backoff": "orth",
        "min_tree_freq": 2,
    }
    usual_name = "dynsel_lemmatizer"
    usual_scorer = staticmethod(lemmatizer_score)
    overwrite = Setting("Whether to replace lemmas that are set.")
    backoff = Setting("The attribute that is the lemma where no script applies.")
    min_tree_freq = Setting("How often a script has to occur in the training data.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The scripts, the most frequent ones first."""
        return self._known_labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels in the form that initialize takes."""
        return self.labels

    @property
    def hide_labels(self) -> bool:
        """Whether the labels are left out of the meta of a pipeline."""
        return True

    def predict(self, docs: Iterable[Doc]) -> LemmaBatch:
        """Predict the lemmas of docs, without changing them.

        docs (Iterable[Doc]): The docs.
        RETURNS (LemmaBatch): For each doc an array of labels.
        """
        docs = as_list(docs)
        batch = super().predict(docs)
        if not self._has_warned and self.engine.reads_pos and find_bare(docs, False):
            self._has_warned = True
            warnings.warn(Warnings.DW230.format(name=self.name), stacklevel=2)
        return batch

    def set_annotations(
        self, docs: Iterable[Doc], predictions: LemmaBatch | list[Any]
    ) -> None:
        """Set the lemmas of docs.

        docs (Iterable[Doc]): The docs.
        predictions (LemmaBatch): What predict returned, or a list of such arrays.
        """
        docs = as_list(docs)
        batch: Any = predictions
        if not isinstance(predictions, LemmaBatch):
            batch = self._read_labels(docs, predictions)
        overwrite = bool(self.cfg["overwrite"])
        if batch.leads is not None and self.cfg["confidence"]:
            chosen = batch.labels < TABLE_LEMMA
            if not overwrite:
                # Lemmas that are there stay, and nothing is known about them.
                chosen &= np.concatenate([[], *map(read_lemmas, docs)]) == 0
            write_tokens(docs, LEMMA, self.get_probabilities(batch), chosen)
        write_lemmas(
            docs,
            batch.labels,
            batch.lemmas,
            overwrite,
            self.cfg["backoff"],
            batch.made_by.make_lemma,
        )

    def compare(self, examples: list[Example], batch: LemmaBatch) -> Verdicts:
        """See DynselComponent.compare: units are tokens."""
        verdicts: Verdicts = []
        for number, (example, labels) in enumerate(zip(examples, batch, strict=True)):
            gold = self.get_gold(example)
            known: list[bool | None] = [None] * len(example.predicted)
            for word, lemma in zip(gold.words.tolist(), gold.lemmas, strict=True):
                # About other words nothing was decided.
                if lemma is not None and labels[word] < TABLE_LEMMA:
                    known[word] = example.predicted[word].lemma_ == lemma
            verdicts += [(one, number) for one in known]
        return verdicts

    def add_label(self, label: str) -> int:
        """Add a script, before initialization.

        RETURNS (int): 1, or 0 if the label is there already.
        """
        self._check_script(label)
        return self._add_label_early(label)

    def set_lookups(self, lookups: Lookups | dict[str, Any] | None) -> None:
        """Set lemmas that are given and not predicted. They are saved with the model.

        lookups (Lookups or dict): spaCy's tables "lemma_lookup" (form: lemma) and
            "lemma_exc" (part of speech: form: lemmas), or a dict of the kind of one of
            them; None for no tables. What is given for a part of speech comes first,
            and holds for the form in lower case, too.
        """
        tables = read_lookups(lookups)
        self._require_engine()
        with self.engine.lock:
            engine = self.engine.with_tables(tables)
            self._replace(engine, self.cfg, self._confidence_map)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | dict[str, Any] | None = None,
        lookups: Lookups | dict[str, Any] | None = None,
    ) -> None:
        """Prepare for training: find the scripts, and what else the data say as a whole.

        get_examples (Callable): Gives the training data.
        nlp (Language): The pipeline.
        labels (list[str]): The scripts; if missing, those of the data are used.
        lookups (Lookups or dict): Lemmas that are given, see set_lookups.
        """
        takes_gold_pos = self._takes_gold_pos
        self._given_tables = read_lookups(lookups)
        try:
            self._gives_up_pos = False
            self._takes_gold_pos = nlp is None or _is_pos_set(nlp, self)
            super().initialize(get_examples, nlp=nlp, labels=labels)
        except BaseException:
            self._takes_gold_pos = takes_gold_pos
            raise
        finally:
            self._given_tables = None
        if self._gives_up_pos:
            warnings.warn(Warnings.DW231.format(name=self.name), stacklevel=2)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """See DynselComponent.update."""
        examples = list(examples)
        losses = super().update(examples, drop=drop, sgd=sgd, losses=losses)
        if self.engine.corrects and not self._has_warned_of_lemma:
            # In training, rare scripts are left out on purpose; a correction is not.
            with self.engine.lock:
                golds = self._get_golds(examples)
                found = self.engine.find_unreachable(golds)
            if found is not None:
                self._has_warned_of_lemma = True
                warnings.warn(
                    Warnings.DW232.format(
                        name=self.name,
                        form=found[0],
                        lemma=found[1],
                        n_labels=len(self.labels),
                    ),
                    stacklevel=2,
                )
        return losses

    def _replace(
        self, engine: LemmaEngine, cfg: dict[str, Any], found: ConfidenceMap | None
    ) -> None:
        if self._given_tables is not None:
            engine.tables = self._given_tables
        super()._replace(engine, cfg, found)

    def _check_settings(self, cfg: dict[str, Any]) -> ConfidenceMap | None:
        check_number("min_tree_freq", cfg["min_tree_freq"], 0, 1 << 31)
        check_choice("overwrite", cfg["overwrite"], (True, False))
        if cfg["backoff"] not in (None, *BACKOFFS):
            raise ValueError(
                Errors.DS233.format(
                    name=self.name, backoff=cfg["backoff"], known=", ".join(BACKOFFS)
                )
            )
        labels: Any = cfg["labels"]
        for label in labels if isinstance(labels, list | tuple) else ():
            self._check_script(label)
        return super()._check_settings(cfg)

    def _check_script(self, label: Any) -> None:
        check_label(self.name, label)
        if read_script(label) is None:
            raise ValueError(Errors.DS230.format(script=label))

    def _choose_labels(self, examples: list[Example], labels: Any) -> Iterable[str]:
        if labels is None:
            labels = self._find_scripts(examples)
        elif isinstance(labels, str | dict) or not isinstance(labels, Iterable):
            found = ", ".join(labels) if isinstance(labels, dict) else repr(labels)
            raise ValueError(Errors.DS232.format(name=self.name, labels=found))
        chosen = list(dict.fromkeys([*self._known_labels, *labels]))
        if not chosen:
            raise ValueError(Errors.DS231.format(name=self.name))
        for label in chosen:
            self._check_script(label)
        return chosen

    def _find_scripts(self, examples: list[Example]) -> list[str]:
        """The scripts of the data, the most frequent ones first, without those that are
        rare."""
        pairs: Counter[tuple[str, str]] = Counter()
        for example in examples:
            doc = example.reference
            for word in find_words(doc).tolist():
                pairs[doc[word].text, doc[word].lemma_] += 1
        counts: Counter[str] = Counter()
        for (form, lemma), count in pairs.items():
            script = find_script(form, lemma) if is_lemma(form, lemma) else None
            if script is not None:
                counts[str(script)] += count
        is_small = counts.total() < MIN_TOKENS_FOR_CUTOFF
        least = 1 if is_small else self.cfg["min_tree_freq"]
        return sorted(
            (script for script, count in counts.items() if count >= least),
            key=lambda script: (-counts[script], script),
        )

    def _get_gold(self, example: Example, names: Any) -> GoldLemmas:
        predicted, reference = example.predicted, example.reference
        words = find_words(predicted)
        pos, morphs = (found[words] for found in read_pos_and_morphs(predicted))
        lemmas: list[str | None] = [None] * len(words)
        if have_same_words(predicted, reference):
            found = find_words(reference)
            places = list(range(len(words)))
        else:
            # A lemma is that of a whole word, not of its parts.
            aligned = [
                (place, one)
                for place, one in enumerate(map(_get_partner(example), words.tolist()))
                if one is not None
            ]
            places = [place for place, _ in aligned]
            found = np.array([one for _, one in aligned], dtype=np.intp)
        gold_pos, gold_morphs = (one[found] for one in read_pos_and_morphs(reference))
        for i, place in enumerate(places):
            lemma = reference[int(found[i])].lemma_
            if is_lemma(predicted[int(words[place])].text, lemma):
                lemmas[place] = lemma
            if self._takes_gold_pos and gold_pos[i]:
                pos[place], morphs[place] = gold_pos[i], gold_morphs[i]
        return GoldLemmas(predicted, words, lemmas, pos, morphs)

    def _read_all(self, examples: list[Example], names: Any) -> list[GoldLemmas]:
        golds = super()._read_all(examples, names)
        self._gives_up_pos = not any(gold.pos.any() for gold in golds) and any(
            read_pos_and_morphs(example.reference)[0].any() for example in examples
        )
        return golds

    def _read_labels(self, docs: list[Doc], predictions: Any) -> LemmaBatch:
        """Predictions for which the lemmas have to be made again."""
        labels = join_labels(predictions, "labels")
        tokens = [token for doc in docs for token in doc]
        snapshot = self._require_engine().get_snapshot()
        texts = [
            snapshot.make_lemma(label, token.text, token.pos)
            for label, token in zip(labels.tolist(), tokens, strict=False)
        ]
        if len(labels) != len(tokens) or any(
            text is None and label != NO_LEMMA
            for text, label in zip(texts, labels.tolist(), strict=True)
        ):
            raise ValueError(
                Errors.DS045.format(n_predictions=len(labels), n_tokens=len(tokens))
            )
        lemmas = np.array([get_string_id(text or "") for text in texts], "uint64")
        batch = LemmaBatch(labels, lemmas, np.zeros(0), np.zeros(0))
        batch.made_by = snapshot
        return batch


def is_lemma(form: str, lemma: str) -> bool:
    """Whether a lemma is there: CoNLL-U writes "_" for one that is missing, which is
    also the lemma of that very sign."""
    return lemma not in NO_TEXT or (lemma == form and lemma != "")


def _get_partner(example: Example) -> Callable[[int], int | None]:
    """The token of the reference that is just the same as one of the predicted doc."""
    forth, back = example.alignment.x2y, example.alignment.y2x

    def find(token: int) -> int | None:
        others = forth[token].tolist()
        if len(others) != 1 or len(back[others[0]]) != 1:
            return None
        return others[0]

    return find


def _is_pos_set(nlp: Language, component: Any) -> bool:
    """Whether a component that stands before another sets parts of speech."""
    disabled = nlp.config["nlp"].get("disabled", [])
    for name, other in nlp.components:
        if other is component:
            break
        meta = nlp.get_pipe_meta(name)
        if name not in disabled and (
            POS_ATTRIBUTE in meta.assigns or meta.factory == RULER
        ):
            return True
    return False
