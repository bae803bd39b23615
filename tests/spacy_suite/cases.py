"""Which of spaCy's own tests say something about a component that takes the place of
its tagger, morphologizer, parser, ner or trainable_lemmatizer, and which of those cannot
apply to ours.

`PYTHONPATH=tests python -m spacy_suite.run` finds the first anew: they pass with spaCy's component
and fail with one that does nothing.
"""

from pathlib import Path

MODULES = (
    "parser",
    "pipeline/test_annotates_on_update.py",
    "pipeline/test_edit_tree_lemmatizer.py",
    "pipeline/test_initialize.py",
    "pipeline/test_morphologizer.py",
    "pipeline/test_pipe_factories.py",
    "pipeline/test_pipe_methods.py",
    "pipeline/test_tagger.py",
    "serialize",
    "test_language.py",
    "test_scorer.py",
    "training",
)
LIST = Path(__file__).with_name("discriminating.txt")

# The start of a case, and why it cannot apply.
NOT_APPLICABLE = {
    "parser/test_ner.py::test_issue1967": "looks at the transition system (`moves`)",
    "parser/test_ner.py::test_accept_blocked_token": "looks at the transition system (`moves`)",
    "parser/test_ner.py::test_overwrite_token": "looks at the transition system (`moves`)",
    "parser/test_ner.py::test_issue2179": "resizes the layers of a neural model",
    "parser/test_ner.py::test_issue3209": "looks at the layers of a neural model",
    "pipeline/test_edit_tree_lemmatizer.py::test_incomplete_data": (
        "looks at the gradient of the neural loss"
    ),
    "pipeline/test_edit_tree_lemmatizer.py::test_initialize_from_labels": (
        "looks at edit trees (`tree2label`)"
    ),
    "pipeline/test_edit_tree_lemmatizer.py::test_lemmatizer_label_data": (
        "looks at edit trees (`trees`)"
    ),
    "pipeline/test_morphologizer.py::test_label_smoothing": (
        "a setting of the neural loss"
    ),
    "pipeline/test_tagger.py::test_label_smoothing": "a setting of the neural loss",
    "serialize/test_serialize_config.py": "configures tok2vec layers",
    "serialize/test_serialize_language.py::test_issue6950": "listens to tok2vec layers",
    "serialize/test_serialize_pipeline.py::test_issue4725_1": "a setting of the neural oracle",
    "training/test_pretraining.py": "pretrains tok2vec layers",
    "training/test_training.py::test_issue7029": "listens to tok2vec layers",
}


def why_not(case: str) -> str | None:
    """Why a case cannot apply, or None."""
    for start, reason in NOT_APPLICABLE.items():
        if case.startswith(start):
            return reason
    return None


def discriminating() -> list[str]:
    return LIST.read_text("utf8").split("\n")[:-1]
