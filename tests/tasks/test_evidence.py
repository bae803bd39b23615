"""By how much decisions are won."""

import numpy as np
import spacy

from helpers.parser import make_doc, make_examples, train_parser
from spacy_dynsel.core.leads import NO_DECISION, NO_RIVAL
from spacy_dynsel.tasks.evidence import scale_leads


def test_leads_without_a_rival_are_infinite():
    leads = np.array([0, 3, NO_RIVAL - 1, NO_RIVAL, NO_DECISION], dtype="int32")
    scaled = scale_leads(leads, 2.0).ravel().tolist()
    assert scaled == [0.0, 1.5, (NO_RIVAL - 1) / 2, np.inf, np.inf]


def test_forced_decisions_of_a_parser():
    """In a sentence of two words one transition connects them, with or without rivals;
    a label that is the only one has none, and the root has no label."""
    nlp = spacy.blank("en")
    data = [("Go home", [0, 0], "ROOT dep"), ("We go", [1, 1], "dep ROOT")]
    parser = train_parser(nlp, make_examples(nlp, data), n_updates=30)
    batch = parser.predict_with_leads(
        [make_doc(nlp, "Go home"), make_doc(nlp, "We go")]
    )
    assert batch.heads.tolist() == [0, 0, 1, 1]
    assert batch.leads[:, 1].tolist() == [NO_DECISION, NO_RIVAL, NO_RIVAL, NO_DECISION]
    assert (batch.leads[:, 0] <= NO_RIVAL).all()
