import subprocess
import sys
from importlib.metadata import distribution

import pytest
import spacy
from spacy.util import registry

ENTRY_POINTS = list(distribution("spacy-dynsel").entry_points)


def test_public_names():
    assert {(entry.group, entry.name) for entry in ENTRY_POINTS} == {
        ("spacy_factories", "dynsel_tagger"),
        ("spacy_factories", "dynsel_label_map"),
        ("spacy_callbacks", "spacy_dynsel.noun_chunks.v1"),
        ("spacy_factories", "dynsel_ner"),
        ("spacy_factories", "dynsel_parser"),
        ("spacy_factories", "dynsel_lemmatizer"),
        ("spacy_factories", "dynsel_morphologizer"),
        ("spacy_architectures", "spacy_dynsel.DynamicMorphologizer.v1"),
        ("spacy_architectures", "spacy_dynsel.DynamicLemmatizer.v1"),
        ("spacy_architectures", "spacy_dynsel.CascadeTagger.v1"),
        ("spacy_architectures", "spacy_dynsel.LinkParser.v1"),
        ("spacy_architectures", "spacy_dynsel.DynamicParser.v1"),
        ("spacy_architectures", "spacy_dynsel.DynamicNER.v1"),
        ("spacy_callbacks", "spacy_dynsel.describe.v1"),
        ("spacy_callbacks", "spacy_dynsel.find_o_bias.v1"),
        ("spacy_callbacks", "spacy_dynsel.tune_o_bias.v1"),
        ("spacy_architectures", "spacy_dynsel.DynamicTagger.v1"),
        ("spacy_misc", "spacy_dynsel.gazetteers.v1"),
        ("spacy_augmenters", "spacy_dynsel.case_augmenter.v1"),
        ("spacy_batchers", "spacy_dynsel.batch_by_share.v1"),
        ("spacy_cli", "dynsel"),
        ("spacy_tokenizers", "spacy_dynsel.CachedTokenizer.v1"),
        ("spacy_readers", "spacy_dynsel.gold_words_corpus.v1"),
        ("spacy_readers", "spacy_dynsel.tagged_corpus.v1"),
        ("spacy_misc", "spacy_dynsel.templates.v1"),
        ("spacy_misc", "spacy_dynsel.word_classes.v1"),
        ("spacy_misc", "spacy_dynsel.learner.v1"),
        ("spacy_misc", "spacy_dynsel.order_wrapper.v1"),
        ("spacy_misc", "spacy_dynsel.order_contribution.v1"),
        ("spacy_misc", "spacy_dynsel.order_gomp.v1"),
        ("spacy_misc", "spacy_dynsel.order_lasso.v1"),
    }


@pytest.mark.parametrize("entry", ENTRY_POINTS, ids=lambda entry: entry.name)
def test_public_names_are_registered(entry):
    group = entry.group.removeprefix("spacy_")
    if group != "factories":
        assert registry.get(group, entry.name) is entry.load()


def test_component_needs_no_import():
    code = (
        "import spacy, sys; assert 'spacy_dynsel' not in sys.modules; "
        "spacy.blank('en').add_pipe('dynsel_tagger')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("task", ["tagger", "ner", "parser", "lemmatizer"])
def test_factory_metadata(task):
    nlp = spacy.blank("en")
    nlp.add_pipe(f"dynsel_{task}")
    meta = nlp.get_pipe_meta(f"dynsel_{task}")
    stock = spacy.blank("en").get_factory_meta(task)
    assert meta.assigns == stock.assigns
    read = {"parser": ["token.tag"], "lemmatizer": ["token.pos"]}
    requires = read.get(task, [])
    assert meta.requires == requires
    assert meta.default_score_weights == stock.default_score_weights
    assert nlp.analyze_pipes()["problems"][f"dynsel_{task}"] == requires


def test_config_round_trips():
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_tagger", config={"margin": [0.5, 1.0]})
    again = spacy.blank("en").from_config(nlp.config)
    assert again.get_pipe("dynsel_tagger").margin == [0.5, 1.0]
    assert again.config == nlp.config
