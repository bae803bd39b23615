"""Stages for a given order of templates."""

import numpy as np
import pytest

from helpers.cli import overrides, write_corpus
from helpers.ordering_data import RIGHT_ORDER, make_known
from helpers.paths import CONFIGS
from spacy_dynsel.base.templates import read_templates
from spacy_dynsel.cli.checkpoints import choose_checkpoints
from spacy_dynsel.ordering.checkpoints import (
    Prefixes,
    learn_prefixes,
    measure,
    propose,
)


def make_prefixes(n=1000, n_templates=10):
    """Nine in ten decisions are sure and right after three templates; the rest only
    after all."""
    easy = np.arange(n) % 10 > 0
    leads = np.zeros((n, n_templates), dtype="float32")
    leads[easy, 2:] = 5.0
    leads[:, -1] = 5.0
    return Prefixes(leads, leads > 0, 1.0)


def test_checkpoint_where_it_pays():
    found = propose(make_prefixes(), 2, max_loss=0.0, overhead=1.0)
    assert [stage.end for stage in found.stages] == [3, 10]
    assert [stage.caught for stage in found.stages] == pytest.approx([0.9, 0.1])
    assert found.templates == pytest.approx(0.9 * 3 + 0.1 * 10)
    assert found.cost == pytest.approx(0.9 * 4 + 0.1 * 12)
    assert found.accuracy == 1
    # More stages catch nothing more and cost something.
    more = propose(make_prefixes(), 3, max_loss=0.0, overhead=1.0)
    assert more.cost > found.cost


def test_loss_is_kept_to():
    """Early decisions that are often wrong are not taken."""
    prefixes = make_prefixes()
    prefixes.right[:, 2:-1] = False
    found = propose(prefixes, 2, max_loss=0.01, overhead=1.0)
    assert found.accuracy == 1
    assert found.templates == pytest.approx(10, abs=0.1)


def test_shares_add_up():
    decisions = make_known()
    prefixes = learn_prefixes(decisions)
    n_templates = len(RIGHT_ORDER)
    for ends in ([n_templates], [1, n_templates], list(range(1, n_templates + 1))):
        found = measure(prefixes, ends, 0.5, 0.0)
        assert sum(stage.caught for stage in found.stages) == pytest.approx(1)
        assert found.cost == found.templates


@pytest.mark.parametrize("n_stages", [0, 11])
def test_impossible_number_of_stages(n_stages):
    with pytest.raises(ValueError, match="DS138"):
        propose(make_prefixes(), n_stages, max_loss=0.0, overhead=1.0)


def test_command_writes_a_template_file(tmp_path):
    corpus = write_corpus(tmp_path / "train.spacy")
    output = tmp_path / "out.txt"
    found = choose_checkpoints(
        CONFIGS / "tagger.cfg",
        output,
        n_stages=2,
        overrides=overrides(corpus, templates=["suffix1", "prefix1[+1]", "shape[-1]"]),
    )
    templates = read_templates(output)
    assert [str(one) for one in templates.templates] == [
        "suffix1",
        "prefix1[1]",
        "shape[-1]",
    ]
    assert list(templates.checkpoints) == [stage.end for stage in found.stages]
