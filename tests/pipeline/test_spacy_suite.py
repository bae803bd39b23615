"""spaCy's own tests, with our factories in the place of its components."""

from spacy_suite.cases import NOT_APPLICABLE, discriminating, why_not
from spacy_suite.run import run


def test_passes_what_tells_components_apart():
    cases = [case for case in discriminating() if why_not(case) is None]
    outcomes = run("dynsel", cases)
    assert set(outcomes) == set(cases)
    assert [case for case in cases if outcomes[case] != "passed"] == []


def test_reasons_are_needed():
    """Each case that is said not to apply is there, and tells components apart."""
    for start in NOT_APPLICABLE:
        assert any(case.startswith(start) for case in discriminating())
