"""Raw text that a teacher annotates, in shards: what is written is not annotated again."""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import tqdm  # type: ignore[import-untyped]
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..base.atomic import write_file
from ..base.service_errors import ServiceErrors
from ..corpus.raw_text import RawText
from ..pipeline.component import DynselComponent
from ..pipeline.confidences import ANY, ARC, LEMMA, MORPH, TAG

# What a teacher may know, and the components of a student that learn it.
LEARNERS = {
    "TAG": "tagger",
    "POS": "morphologizer",
    "DEP": "parser",
    "LEMMA": "lemmatizer",
    "ENT_IOB": "ner",
}
# How many lines a shard holds, and how many are looked at to find out what is known.
LINES = 1000
TRIED = 50


class Shards:
    """A folder of DocBins: those to learn from, and those that are held out.

    folder (Path): The folder.
    teacher (Language): Annotates.
    text (RawText): What is annotated, a Doc for each line that is not empty.
    min_confidence (float): What the teacher must be sure of. Where it says how sure it
        is and it is less, the annotation stays missing.
    held_out (int): Of so many Docs one is held out.
    max_words (int): How many words to annotate, 0 for all.
    """

    def __init__(
        self,
        folder: Path,
        teacher: Language,
        text: RawText,
        *,
        min_confidence: float = 0.9,
        held_out: int = 20,
        max_words: int = 0,
    ) -> None:
        self.train = folder / "train"
        self.held_out = folder / "held_out"
        self._state_path = folder / "state.json"
        self._teacher = teacher
        self._text = text
        self._min_confidence = min_confidence
        self._every = held_out
        self._max_words = max_words

    def annotate(self) -> set[str]:
        """Annotate what is not annotated yet.

        RETURNS (set): What the teacher knows, as keys of LEARNERS.
        """
        state = self._load()
        _show_confidence(self._teacher)
        n_words = state["words"]
        lines = islice(self._read_lines(), state["lines"], None)
        with tqdm.tqdm(
            total=self._max_words or None,
            initial=n_words,
            unit=" words",
            leave=False,
            disable=None,
        ) as bar:
            while not state["complete"]:
                batch = list(islice(lines, LINES))
                n_new = self._write(batch, state) if batch else 0
                bar.update(n_new)
                state["words"] += n_new
                state["lines"] += len(batch)
                is_enough = 0 < self._max_words <= state["words"]
                state["complete"] = len(batch) < LINES or is_enough
                if state["complete"]:
                    self._check(state)
                self._save(state)
        return set(state["known"])

    def _read_lines(self) -> Iterator[str]:
        return (line for line in self._text.read() if line.strip())

    def _write(self, lines: list[str], state: dict[str, Any]) -> int:
        """Annotate the lines of a shard and write it. RETURNS (int): Its words."""
        bins = {path: DocBin() for path in (self.train, self.held_out)}
        known = set(state["known"])
        n_words = 0
        with self._teacher.memory_zone():
            docs = self._teacher.pipe(lines)
            for number, doc in enumerate(docs, start=state["lines"]):
                known |= {name for name in LEARNERS if doc.has_annotation(name)}
                n_words += len(doc)
                is_held_out = number % self._every == self._every - 1
                bins[self.held_out if is_held_out else self.train].add(
                    keep_sure(doc, self._min_confidence)
                )
        if not known and state["lines"] + len(lines) >= TRIED:
            raise ValueError(ServiceErrors.DS340.format(names=self._teacher.pipe_names))
        for folder, binary in bins.items():
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{state['lines'] // LINES:06d}.spacy"
            write_file(path, binary.to_bytes())
        state["known"] = sorted(known)
        return n_words

    def _check(self, state: dict[str, Any]) -> None:
        """Raise an error unless there is something to learn and to hold out."""
        if state["lines"] < 2:
            raise ValueError(ServiceErrors.DS341.format(n=state["lines"]))
        if not state["known"]:
            raise ValueError(ServiceErrors.DS340.format(names=self._teacher.pipe_names))
        if state["lines"] < self._every:
            # So few that none was held out: the last one is.
            path = self.train / "000000.spacy"
            *docs, last = (
                DocBin().from_bytes(path.read_bytes()).get_docs(self._teacher.vocab)
            )
            write_file(path, DocBin(docs=docs).to_bytes())
            write_file(self.held_out / path.name, DocBin(docs=[last]).to_bytes())

    def _load(self) -> dict[str, Any]:
        """What is done so far."""
        key = self._get_key()
        if not self._state_path.exists():
            return {"key": key, "lines": 0, "words": 0, "known": [], "complete": False}
        try:
            state = json.loads(self._state_path.read_text("utf8"))
            is_same = state["key"] == key
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                ServiceErrors.DS342.format(path=self._state_path.parent)
            ) from error
        if not is_same:
            raise ValueError(ServiceErrors.DS342.format(path=self._state_path.parent))
        return state

    def _save(self, state: dict[str, Any]) -> None:
        write_file(self._state_path, json.dumps(state, indent=1).encode())

    def _get_key(self) -> str:
        """What the shards depend on."""
        path = self._teacher._path
        files = sorted(Path(path).rglob("*")) if path else []
        stamps = [
            (one.name, one.stat().st_size, one.stat().st_mtime_ns)
            for one in files
            if one.is_file()
        ]
        found = [
            self._teacher.config.to_str(),
            stamps,
            self._text.state,
            [self._min_confidence, self._every, self._max_words, LINES],
        ]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _show_confidence(nlp: Language) -> None:
    """Let components of ours say how sure they are, where that was fitted."""
    for _, component in nlp.pipeline:
        if isinstance(component, DynselComponent) and component.cfg["confidence_map"]:
            component.confidence = True


def keep_sure(doc: Doc, minimum: float) -> Doc:
    """A Doc with the annotation of another, without what its annotator says it is less
    sure of. What says nothing counts as sure."""

    def is_sure(i: int, name: str) -> bool:
        value = doc[i]._.get(name)
        return value is None or value >= minimum

    def choose(values: list[Any], name: str, missing: Any) -> list[Any]:
        return [v if is_sure(i, name) else missing for i, v in enumerate(values)]

    chosen: dict[str, Any] = {}
    if doc.has_annotation("TAG"):
        chosen["tags"] = choose([token.tag_ for token in doc], TAG, "")
    if doc.has_annotation("POS"):
        chosen["pos"] = choose([token.pos_ for token in doc], MORPH, "")
        chosen["morphs"] = choose([str(token.morph) for token in doc], MORPH, "")
    if doc.has_annotation("LEMMA"):
        chosen["lemmas"] = choose([token.lemma_ for token in doc], LEMMA, "")
    if doc.has_annotation("DEP"):
        chosen["heads"] = choose([token.head.i for token in doc], ARC, None)
        chosen["deps"] = choose([token.dep_ for token in doc], ARC, None)
    if doc.has_annotation("SENT_START"):
        chosen["sent_starts"] = [token.is_sent_start for token in doc]
    if doc.has_annotation("ENT_IOB"):
        tags = [
            f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"
            for token in doc
        ]
        for ent in doc.ents:
            value = ent._.get(ANY)
            if value is not None and value < minimum:
                tags[ent.start : ent.end] = [""] * len(ent)
        chosen["ents"] = tags
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        **chosen,
    )
