"""Scripts: what makes a lemma of a form."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_dynsel.tasks.lemmas.script_set import ScriptSet
from spacy_dynsel.tasks.lemmas.scripts import (
    MAX_DIFFERENCE,
    Change,
    Script,
    find_script,
    read_script,
)

# Few letters give many common parts; some change their length with their case.
SMALL = st.text("abAB,^>$\\ ", max_size=8)
WORDS = st.text(st.sampled_from("aeébBßİŉﬁΣς'-_ñ\u0301"), max_size=6)
ANY = st.text(max_size=12)
NEVER = st.just(False)


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("the", "the", "lower"),
        ("The", "the", "lower"),
        ("London", "London", "keep"),
        ("LONDON", "London", "title"),
        ("i", "I", "title"),
        ("nato", "NATO", "upper"),
        ("cities", "city", "lower ies>y$"),
        ("Americans", "American", "keep s>$"),
        ("gemacht", "machen", "lower ^ge> t>en$"),
        ("Züge", "Zug", "keep ü>u e>$"),
        ("was", "be", "lower ^was>be$"),
        ("8,000", "8000", "lower ,>>"),
        ("8,000,000", "8000000", "lower ,>>"),
        ("took", "take", "lower oo>a >e$"),
        ("a>b", "a", "lower \\>b>$"),
        ("dat", "dat ding", "lower >\\ ding$"),
    ],
)
def test_scripts_are_readable(form, lemma, script):
    assert str(find_script(form, lemma)) == script
    assert read_script(script).apply(form) == lemma


@given(st.one_of(st.tuples(SMALL, SMALL), st.tuples(WORDS, WORDS), st.tuples(ANY, ANY)))
@example(("İ", "i"))
@example(("a" * 100, "a" * 99))
@example((",,,", ","))
def test_a_script_gives_back_the_lemma_that_it_was_made_from(pair):
    form, lemma = pair
    script = find_script(form, lemma)
    if not form or not lemma:
        assert script is None
    else:
        assert script.apply(form) == lemma
        assert read_script(str(script)) == script


CHANGES = st.builds(Change, ANY, ANY, NEVER)
INNER = st.builds(
    Change, st.text(min_size=1, max_size=3), st.text(max_size=3), st.booleans()
).filter(lambda change: change.old != change.new)


@given(
    st.builds(
        Script,
        st.sampled_from(["lower", "keep", "title", "upper"]),
        CHANGES,
        CHANGES,
        st.lists(INNER, max_size=3).map(tuple),
        NEVER,
    )
)
def test_what_is_written_can_be_read(script):
    assert read_script(str(script)) == script


@pytest.mark.parametrize(
    "text",
    [
        "",
        "low",
        "lower ",
        " lower",
        "lower  s>$",
        "lower s",
        "lower s>>$",
        "lower ^a>>b",
        "lower >b",
        "lower a>a",
        "lower s>$ ^a>b",
        "lower ^>be$",
        "lower ^was>$",
        "lower ^was>be$ s>$",
        "lower a>b\\",
        "LOWER",
    ],
)
def test_what_is_no_script_is_refused(text):
    assert read_script(text) is None
    with pytest.raises(ValueError, match="DS230"):
        ScriptSet((text,))


def test_long_texts():
    """Only the difference counts, and a large one is not learned."""
    form = "x" * 100_000
    assert str(find_script(form + "s", form)) == "lower s>$"
    assert find_script("a" * MAX_DIFFERENCE, "b" * MAX_DIFFERENCE) is None
    assert find_script("ab" * 50_000, "ba" * 49_000) is None
    scripts = ScriptSet(("lower", "lower s>$", "lower x>>y", "lower xs>yy$"))
    assert scripts.find_valid(form + "s") == [0, 1, 2, 3]
    assert scripts.apply(1, form + "s") == form


SCRIPTS = st.one_of(
    st.tuples(SMALL, SMALL).map(lambda pair: find_script(*pair)),
    st.tuples(WORDS, WORDS).map(lambda pair: find_script(*pair)),
    st.builds(
        Script,
        st.sampled_from(["lower", "keep", "title", "upper"]),
        st.builds(Change, st.text("ab", max_size=1), st.text("a", max_size=1), NEVER),
        st.builds(Change, st.text("ab", max_size=2), st.text("a", max_size=1), NEVER),
        st.lists(
            st.builds(
                Change,
                st.text("ab,", min_size=1, max_size=2),
                st.text("ab", max_size=2),
                st.booleans(),
            ).filter(lambda change: change.old != change.new),
            max_size=3,
        ).map(tuple),
        NEVER,
    ),
)


@given(st.lists(SCRIPTS, max_size=12), st.one_of(SMALL, WORDS, ANY))
def test_the_scripts_that_apply_are_found(found, form):
    """As a look at each of them says."""
    labels = tuple(dict.fromkeys(str(one) for one in found if one is not None))
    expected = [
        label for label, one in enumerate(labels) if read_script(one).apply(form)
    ]
    scripts = ScriptSet(labels)
    assert scripts.find_valid(form) == expected
    for label, one in enumerate(labels):
        assert scripts.apply(label, form) == read_script(one).apply(form)
    assert scripts.apply(len(labels), form) is None
    assert scripts.apply(-1, form) is None


def test_a_set_is_made_once():
    scripts = ScriptSet(("lower",))
    with pytest.raises(ValueError, match="DS216"):
        scripts.__init__(("keep",))
    assert scripts.labels == ("lower",)
