"""One pipeline of all components, which many Python threads use at once."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy

from helpers.embedded import learn, make_examples, read_docs
from spacy_dynsel.tokenizer.cached import CachedTokenizer

N_PYTHON_THREADS = 6


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("en")
    nlp.tokenizer = CachedTokenizer.from_tokenizer(nlp.tokenizer, max_cache_size=50)
    # Caches that are dropped all the time.
    for name, model in (
        ("dynsel_tagger", {}),
        ("dynsel_morphologizer", {}),
        ("dynsel_parser", {"folds": 2, "seeds": 1}),
        ("dynsel_ner", {"two_passes": True}),
    ):
        nlp.add_pipe(name, config={"cache_size": 50, "model": model})
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 80))
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 2)
    return nlp


def annotate(doc):
    return [
        (
            token.text,
            token.tag_,
            token.pos_,
            str(token.morph),
            token.dep_,
            token.head.i,
            token.ent_iob,
            token.ent_type,
        )
        for token in doc
    ]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_get_what_one_would_get(nlp, n_threads):
    texts = [doc.text for doc in read_docs(nlp.vocab, "test", 80)]
    expected = {text: annotate(nlp(text)) for text in texts}
    for _, component in nlp.pipeline:
        component.n_threads = n_threads

    def work(seed):
        rng = random.Random(seed)
        mine = rng.sample(texts, len(texts))
        one_by_one = {text: annotate(nlp(text)) for text in mine}
        docs = nlp.pipe(mine, batch_size=rng.choice((7, 100)))
        batched = {text: annotate(doc) for text, doc in zip(mine, docs, strict=True)}
        return one_by_one == batched == expected

    with ThreadPoolExecutor(N_PYTHON_THREADS) as pool:
        assert all(pool.map(work, range(N_PYTHON_THREADS)))
