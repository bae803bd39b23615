"""Other names for relations and entities: for code that expects those of spaCy's English
pipelines."""

from collections.abc import Iterable, Iterator

from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..base.service_errors import ServiceErrors

# Relations of Universal Dependencies, and what spaCy's English pipelines call them. What
# has no counterpart there keeps its name.
CLEAR_DEPS = {
    "acl:relcl": "relcl",
    "advcl:relcl": "relcl",
    "aux:pass": "auxpass",
    "cc:preconj": "preconj",
    "compound:prt": "prt",
    "csubj:pass": "csubjpass",
    "det:predet": "predet",
    "discourse": "intj",
    "flat": "compound",
    "iobj": "dative",
    "nmod:poss": "poss",
    "nsubj:pass": "nsubjpass",
    "obj": "dobj",
    "obl:agent": "agent",
    "obl:unmarked": "npadvmod",
    "orphan": "dep",
}
# LOC is both GPE and LOC there, and keeps its name.
ONTONOTES_ENTS = {"PER": "PERSON"}


class LabelMap(Pipe):
    """Renames relations and entities. Heads stay what they are.

    vocab (Vocab): The shared vocabulary.
    name (str): The name of the component.
    deps (dict): The new names of relations, by the old ones. Others stay.
    ents (dict): The same for types of entities.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "dynsel_label_map",
        *,
        deps: dict[str, str] | None = None,
        ents: dict[str, str] | None = None,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.deps = dict(CLEAR_DEPS if deps is None else deps)
        self.ents = dict(ONTONOTES_ENTS if ents is None else ents)
        for old, new in (*self.deps.items(), *self.ents.items()):
            if not (old and new):
                raise ValueError(
                    ServiceErrors.DS330.format(name=name, old=old, new=new)
                )
        add = vocab.strings.add
        self._deps = {add(old): add(new) for old, new in self.deps.items()}
        self._ents = {add(old): add(new) for old, new in self.ents.items()}

    def __call__(self, doc: Doc) -> Doc:
        """Rename the relations and entities of a doc."""
        for token in doc:
            new = self._deps.get(token.dep)
            if new is not None:
                token.dep = new
        if any(ent.label in self._ents for ent in doc.ents):
            doc.set_ents([self._rename(ent) for ent in doc.ents], default="unmodified")
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Rename those of a stream of docs."""
        error_handler = self.get_error_handler()
        for doc in stream:
            try:
                yield self(doc)
            except Exception as error:
                error_handler(self.name, self, [doc], error)

    def _rename(self, ent: Span) -> Span:
        return Span(
            ent.doc,
            ent.start,
            ent.end,
            label=self._ents.get(ent.label, ent.label),
            kb_id=ent.kb_id,
            span_id=ent.id,
        )
