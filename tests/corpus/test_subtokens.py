"""Words that a treebank divides and a tokenizer does not become one."""

from itertools import pairwise

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.scorer import Scorer
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.vocab import Vocab

from spacy_dynsel.cli.convert import convert
from spacy_dynsel.corpus.conll import Range, Sentence, make_docs, read_conllu
from spacy_dynsel.corpus.subtokens import divides_by, find_undivided, join_subtokens

CONLLU = """\
1	Ela	ela	PRON	_	_	2	nsubj	_	_
2	saiu	sair	VERB	_	Mood=Ind|Tense=Past	0	root	_	_
3-4	da	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	6	case	_	_
4	a	o	DET	_	Definite=Def|Gender=Fem	6	det	_	Entity=B-ORG
5	bela	belo	ADJ	_	Gender=Fem	6	amod	_	Entity=I-ORG
6	Globo	Globo	PROPN	_	_	2	obl	_	SpaceAfter=No|Entity=I-ORG
7-8	-se	_	_	_	_	_	_	_	SpaceAfter=No
7	-	-	PUNCT	_	_	8	punct	_	_
8	se	se	PRON	_	Gender=Masc|Gender2=X	2	expl	_	_
"""
ENGLISH = """\
1-2	don't	_	_	_	_	_	_	_	_
1	do	do	AUX	VB	_	3	aux	_	_
2	n't	not	PART	RB	_	3	advmod	_	_
3	go	go	VERB	VB	_	0	root	_	_
"""


def leaves_whole(form, parts):
    return False


def read(folder, text):
    path = folder / "corpus.conllu"
    path.write_text(text, encoding="utf8")
    return read_conllu(path, tag_column="upos")


def test_joined(tmp_path):
    (sentence,) = join_subtokens(read(tmp_path, CONLLU), leaves_whole)
    assert sentence.words == ["Ela", "saiu", "da", "bela", "Globo", "-se"]
    assert sentence.spaces == [True, True, True, True, False, False]
    assert sentence.tags == ["PRON", "VERB", "ADP_DET", "ADJ", "PROPN", "PUNCT_PRON"]
    # Of the parts that stand equally high, the first; else the highest.
    assert sentence.pos == ["PRON", "VERB", "ADP", "ADJ", "PROPN", "PRON"]
    assert sentence.lemmas[2:] == ["de o", "belo", "Globo", "- se"]
    assert sentence.morphs[2] == "Definite=Def|Gender=Fem"
    assert sentence.heads == [1, 1, 4, 4, 1, 1]
    assert sentence.deps == ["nsubj", "ROOT", "case", "amod", "obl", "expl"]
    assert sentence.ents == ["O", "O", "B-ORG", "I-ORG", "I-ORG", "O"]
    assert sentence.ranges == []
    (doc,) = make_docs(Vocab(), [sentence])
    assert doc.text == "Ela saiu da bela Globo-se"


def test_only_what_the_tokenizer_leaves_whole(tmp_path):
    divides = divides_by(spacy.blank("en").tokenizer)
    sentences = read(tmp_path, ENGLISH)
    assert find_undivided(sentences[0], divides) == []
    assert list(join_subtokens(sentences, divides)) == sentences
    # Where what is left stands among what is joined, its places move.
    both = read(tmp_path, CONLLU)
    (sentence,) = join_subtokens(both, lambda form, parts: form == "-se")
    assert sentence.ranges == [Range(5, 7, "-se")]
    assert sentence.words[5:7] == ["-", "se"]


def test_convert(tmp_path, capsys):
    path = tmp_path / "corpus.conllu"
    path.write_text(CONLLU, encoding="utf8")
    plain = convert(path, tmp_path / "plain.spacy", lang="pt", tag_column="upos")
    assert "--merge-subtokens" in capsys.readouterr().out
    joined = convert(
        path,
        tmp_path / "joined.spacy",
        lang="pt",
        tag_column="upos",
        merge_subtokens=True,
    )
    assert "--merge-subtokens" not in capsys.readouterr().out
    sizes = [
        len(doc)
        for path in (plain, joined)
        for doc in DocBin().from_disk(path).get_docs(Vocab())
    ]
    assert sizes == [8, 6]


def test_nothing_to_tell_of(tmp_path, capsys):
    path = tmp_path / "corpus.conllu"
    path.write_text(ENGLISH, encoding="utf8")
    convert(path, tmp_path / "out.spacy", lang="en", tag_column="upos")
    assert "--merge-subtokens" not in capsys.readouterr().out


def test_range_without_a_form(tmp_path):
    with pytest.raises(ValueError, match="DS143"):
        read(tmp_path, CONLLU.replace("3-4\tda", "3-4\t"))


@st.composite
def trees_with_ranges(draw):
    """Trees of any form, some heads unknown, with ranges that do not overlap."""
    n = draw(st.integers(2, 12))
    order = draw(st.permutations(range(n)))
    heads = [0] * n
    heads[order[0]] = order[0]
    for rank in range(1, n):
        head = order[draw(st.integers(0, rank - 1))]
        heads[order[rank]] = None if draw(st.integers(0, 9)) == 0 else head
    cuts = sorted(draw(st.sets(st.integers(0, n), min_size=2, max_size=6)))
    ranges = [
        Range(start, end, f"r{start}")
        for start, end in pairwise(cuts)
        if end - start > 1
    ]
    return heads, ranges


@settings(deadline=None)
@given(trees_with_ranges())
def test_trees_stay_trees(case):
    heads, ranges = case
    n = len(heads)
    sentence = Sentence(
        words=[str(i) for i in range(n)],
        spaces=[True] * n,
        heads=heads,
        deps=[None if head is None else "dep" for head in heads],
        ranges=ranges,
    )
    (joined,) = join_subtokens([sentence], leaves_whole)
    assert len(joined.words) == n - sum(one.end - one.start - 1 for one in ranges)
    for start in range(len(joined.words)):
        seen, i = set(), start
        while joined.heads[i] is not None and joined.heads[i] != i:
            assert i not in seen
            seen.add(i)
            i = joined.heads[i]
    assert sum(head == i for i, head in enumerate(joined.heads)) <= 1


@pytest.mark.parametrize("joined, lowest, highest", [(False, 0, 0.9), (True, 0.998, 1)])
def test_bosque(corpora, tmp_path, joined, lowest, highest):
    path = convert(
        corpora / "ud_pt_bosque" / "test.conllu",
        tmp_path / "test.spacy",
        lang="pt",
        tag_column="upos",
        merge_subtokens=joined,
    )
    nlp = spacy.blank("pt")
    examples = list(Corpus(path)(nlp))
    found = Scorer.score_tokenization(examples)["token_f"]
    assert lowest < found < highest
