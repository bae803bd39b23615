"""The pipelines of this process: each is loaded once, on first use, and annotates in
memory zones."""

import ctypes
import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc

from ..base.atomic import new_lock
from ..base.corpus_errors import CorpusErrors
from ..base.errors import Errors
from ..pipeline.component import DynselComponent
from ..tokenizer.cached import CachedTokenizer
from ..zones import exclusive
from .journal import Watched

# A zone forgets its words, and finding them anew takes longer than all the rest. So the
# first texts are annotated outside of zones, until so many strings have come that stay;
# but not a text, or a batch, that might bring far more of them at once.
MAX_KEPT = 25_000
MAX_CHARS_KEPT = 500_000
# spaCy's tables keep a place for each word that a zone has forgotten. From this many on,
# a new pipeline takes less than they do.
MAX_FORGOTTEN = 200_000
# Five components that keep 50,000 words each, their default, take 150 MB more.
MAX_CACHE_SIZE = 15_000
MAX_MESSAGE = 1000


class PipelineKey(NamedTuple):
    """What makes one loaded pipeline differ from another."""

    name: str
    disable: tuple[str, ...]
    confidence: bool
    code: str


class LoadedPipeline:
    """A pipeline that annotates, one thread at a time: spaCy's memory zones and threads
    do not mix."""

    def __init__(self, key: PipelineKey) -> None:
        self.key = key
        self.lock = new_lock()
        self._nlp: Language | None = None
        self._is_busy = False
        self._n_kept = 0
        self._n_forgotten = 0

    @property
    def nlp(self) -> Language:
        if self._nlp is None:
            self._nlp = load(self.key)
            self._n_kept = self._n_forgotten = 0
        return self._nlp

    @contextmanager
    def zone(self, texts: Sequence[str | None]) -> Iterator[Language]:
        """Annotate within this block. What comes of it must not outlive it.

        texts (Sequence[str]): What is to be annotated.
        """
        with self.lock:
            if self._is_busy or self._n_forgotten > MAX_FORGOTTEN:
                # The former is what a fork finds that came while a thread annotated.
                self._nlp = None
                give_back_memory()
            nlp = self.nlp
            strings = nlp.vocab.strings
            n_before = len(strings)
            n_chars = sum(len(text) for text in texts if text is not None)
            self._is_busy = True
            try:
                with without_collection():
                    if self._n_kept < MAX_KEPT and n_chars <= MAX_CHARS_KEPT:
                        yield nlp
                        self._n_kept += len(strings) - n_before
                    else:
                        with exclusive(nlp):
                            yield nlp
                            self._n_forgotten += len(strings) - n_before
            finally:
                self._is_busy = False


@contextmanager
def without_collection() -> Iterator[None]:
    """Let nobody look for garbage. Thousands of Docs make Python do so time and again,
    and walk over all that a pipeline has."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def give_back_memory() -> None:
    """Let the system have what nobody uses any more."""
    gc.collect()
    # Only the C library of GNU has it.
    trim = (
        getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    )
    if trim is not None:
        trim(0)


_pipelines: dict[PipelineKey, LoadedPipeline] = {}


def get_pipeline(key: PipelineKey) -> LoadedPipeline:
    """The pipeline of this process, which is loaded when it is first used."""
    return _pipelines.setdefault(key, LoadedPipeline(key))


def load(key: PipelineKey) -> Language:
    """Load a pipeline, and let it be fast."""
    if key.code:
        util.import_file("dynsel_code", key.code)
    try:
        with without_collection():
            nlp = util.load_model(key.name, disable=list(key.disable))
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(Errors.DS137.format(path=key.name, reason=error)) from error
    if type(nlp.tokenizer) is Tokenizer:
        # The tokens are the same.
        nlp.tokenizer = CachedTokenizer.from_tokenizer(nlp.tokenizer)
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, DynselComponent):
            pipe.cfg["cache_size"] = min(pipe.cache_size, MAX_CACHE_SIZE)
            if key.confidence:
                pipe.confidence = True
    return nlp


def find_files(name: str) -> Path:
    """The folder of a pipeline, of which only the name may be known."""
    if util.is_package(name):
        return Path(util.get_package_path(name))
    path = Path(name)
    if not (path / "meta.json").exists():
        reason = "there is neither a package nor a folder of that name with a meta.json"
        raise ValueError(Errors.DS137.format(path=name, reason=reason))
    return path


def digest(name: str) -> str:
    """What tells a pipeline apart from all others, whatever its name."""
    found = hashlib.blake2b(digest_size=16)
    folder = find_files(name)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(str(path.relative_to(folder)).encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    found.update(block)
    return found.hexdigest()


def annotate(
    nlp: Language,
    make_inputs: Sequence[Callable[[], str | Doc]],
    watched: Watched | None = None,
    ids: Sequence[str] = (),
) -> tuple[list[Doc | None], list[str | None]]:
    """Annotate documents. What fails together is tried again one by one, and what fails
    then fails alone.

    make_inputs (Sequence[Callable]): Give the text of a document, or a Doc of its words.
    watched (Watched): What is known about processes that died over the same documents.
    ids (Sequence[str]): The names of documents, for those who read the notes.
    RETURNS (tuple): The Docs, and what is wrong with those that are None.
    """
    n = len(make_inputs)
    errors: list[str | None] = [None] * n
    if watched is None or not watched.is_suspect:
        try:
            docs: list[Doc | None] = list(nlp.pipe([make() for make in make_inputs]))
        except Exception:
            docs = []
        # A pipeline with an error handler of its own may have dropped some.
        if len(docs) == n:
            return docs, errors
    docs = [None] * n
    for i, make in enumerate(make_inputs):
        if watched is not None and i in watched.set_aside:
            errors[i] = CorpusErrors.DS316
            continue
        if watched is not None and watched.is_suspect:
            watched.note(i, ids[i])
        try:
            docs[i] = nlp(make())
        except Exception as error:
            errors[i] = describe(error)
    return docs, errors


def describe(error: BaseException) -> str:
    """An error as a short text; those with codes say enough by themselves."""
    text = " ".join(str(error).split())
    if not text.startswith("["):
        text = f"{type(error).__name__}: {text}"
    return text[:MAX_MESSAGE]


def describe_pipeline(nlp: Language) -> dict[str, Any]:
    """What to say about a pipeline beside its results."""
    meta = nlp.meta
    return {
        "name": f"{nlp.lang}_{meta['name']}",
        "version": meta["version"],
        "lang": nlp.lang,
        "components": list(nlp.pipe_names),
    }
