"""Corpora in other formats become DocBins that say the same."""

import re
import subprocess
import sys

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from helpers.paths import ASSETS
from spacy_dynsel.cli.convert import Format, convert
from spacy_dynsel.corpus.conll import (
    Columns,
    Sentence,
    make_docs,
    read_columns,
    read_conllu,
    to_iob2,
)

CONLLU = """\
# newdoc id = one
# newpar
# sent_id = 1
# text = Vámonos al mar.
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	V	Mood=Imp|Number=Plur	0	root	0:root	Entity=(e1-person
2	nos	nosotros	PRON	P	_	1	obj	1:obj	_
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	_	_	5	case	5:case	_
4	el	el	DET	D	_	5	det	5:det	_
4.1	gran	grande	ADJ	A	_	_	_	5:amod	_
5	mar	mar	NOUN	N	_	1	obl	1:obl:a	SpaceAfter=No|Entity=B-LOC
6	.	.	PUNCT	.	_	1	punct	1:punct	_

# newpar
# sent_id = 2
1	Sí	_	INTJ	I	_	0	root	_	SpaceAfter=No

# newdoc id = two
1	No	_	INTJ	I	_	_	_	_	NoSpaceAfter=No
"""


def write(folder, text, name="corpus.conllu"):
    path = folder / name
    path.write_bytes(text.encode("utf8"))
    return path


def load(path):
    return list(DocBin(store_user_data=True).from_disk(path).get_docs(Vocab()))


def test_conllu(tmp_path):
    path = write(tmp_path, CONLLU)
    doc, second, third = load(convert(path, tmp_path / "new" / "folder"))
    assert doc.text == "Vamosnos ael mar. "
    assert [token.tag_ for token in doc] == ["V", "P", "", "D", "N", "."]
    assert [token.pos_ for token in doc][:3] == ["VERB", "PRON", "ADP"]
    assert [token.lemma_ for token in doc][:2] == ["ir", "nosotros"]
    assert str(doc[0].morph) == "Mood=Imp|Number=Plur"
    assert [token.head.i for token in doc] == [0, 0, 4, 4, 0, 0]
    deps = ["ROOT", "obj", "case", "det", "obl", "punct"]
    assert [token.dep_ for token in doc] == deps
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("mar", "LOC")]
    assert doc[0].ent_iob_ == "O"
    assert second.text == "Sí"
    assert (second[0].lemma_, second[0].dep_) == ("", "ROOT")
    assert third.text == "No "
    assert not third[0].has_dep()


def test_levels(tmp_path):
    path = write(tmp_path, CONLLU)
    texts = {
        level: [doc.text for doc in load(convert(path, tmp_path, level=level))]
        for level in ("sentence", "paragraph", "document")
    }
    assert texts == {
        "sentence": ["Vamosnos ael mar. ", "Sí", "No "],
        "paragraph": ["Vamosnos ael mar. ", "Sí", "No "],
        "document": ["Vamosnos ael mar. Sí", "No "],
    }
    first = load(convert(path, tmp_path, level="document"))[0]
    assert [sent.text for sent in first.sents] == ["Vamosnos ael mar.", "Sí"]
    one_paragraph = write(tmp_path, CONLLU.replace("# newpar\n# sent_id = 2\n", ""))
    docs = load(convert(one_paragraph, tmp_path, level="paragraph"))
    assert [doc.text for doc in docs] == ["Vamosnos ael mar. Sí", "No "]


def test_upos(tmp_path):
    path = write(tmp_path, CONLLU)
    doc = load(convert(path, tmp_path, tag_column="upos"))[0]
    assert [token.tag_ for token in doc] == [token.pos_ for token in doc]
    # The same from a DocBin.
    plain = convert(path, tmp_path / "plain.spacy", level="document")
    again = convert(plain, tmp_path / "again.spacy", tag_column="upos")
    assert [token.tag_ for token in load(again)[0]] == [token.pos_ for token in doc]


def test_line_ends_and_byte_order_mark(tmp_path):
    plain = read_conllu(write(tmp_path, CONLLU))
    assert read_conllu(write(tmp_path, CONLLU.rstrip("\n"))) == plain
    assert read_conllu(write(tmp_path, CONLLU.replace("\n", "\r\n"))) == plain
    assert read_conllu(write(tmp_path, "\ufeff\n" + CONLLU + "\n\n \n")) == plain


def test_nothing_known_is_nothing_set(tmp_path):
    path = write(tmp_path, "1\tA\t_\t_\t_\t_\t_\t_\t_\t_\n")
    (doc,) = load(convert(path, tmp_path))
    for name in ("TAG", "POS", "MORPH", "LEMMA", "DEP", "ENT_IOB"):
        assert not doc.has_annotation(name)


@pytest.mark.parametrize("level", ["sentence", "paragraph", "document"])
def test_features_and_lemmas(tmp_path, level):
    rows = [
        # Out of order, and with two values.
        ("Worte", "Wort", "Number=Plur|NumForm=Word|Case=Nom,Acc"),
        ("_", "_", "_"),
        ("und", "_", "_"),
        ("z.", "zum Beispiel", "Abbr=Yes"),
    ]
    text = "".join(
        f"{i}\t{word}\t{lemma}\tX\t_\t{feats}\t_\t_\t_\t_\n"
        for i, (word, lemma, feats) in enumerate(rows, start=1)
    )
    text += f"\n# newpar\n{text}\n# newdoc\n{text}"
    docs = load(convert(write(tmp_path, text), tmp_path / "new", level=level))
    assert len(docs) == {"sentence": 3, "paragraph": 3, "document": 2}[level]
    tokens = [token for doc in docs for token in doc]
    morphs = ["Case=Acc,Nom|NumForm=Word|Number=Plur", "", "", "Abbr=Yes"]
    assert [str(token.morph) for token in tokens] == 3 * morphs
    # Where a file has features, a word without any has none.
    assert all(token.has_morph() for token in tokens)
    assert [token.lemma_ for token in tokens] == 3 * ["Wort", "_", "", "zum Beispiel"]
    # And they go with the sentences of a DocBin.
    parts = load(convert(tmp_path / "new" / "corpus.spacy", tmp_path / "parts.spacy"))
    again = [token for doc in parts for token in doc]
    assert [str(token.morph) for token in again] == 3 * morphs
    assert [token.lemma_ for token in again] == [token.lemma_ for token in tokens]


@pytest.mark.parametrize("nothing", ["_", ""])
def test_heads_without_labels_are_kept(tmp_path, nothing):
    rows = [(1, "He", 2), (2, "saw", 0), (3, "her", 2)]
    text = "".join(
        f"{i}\t{word}\t_\t_\t_\t_\t{head}\t{nothing}\t_\t_\n" for i, word, head in rows
    )
    (doc,) = load(convert(write(tmp_path, text), tmp_path))
    assert [token.head.i for token in doc] == [1, 1, 1]
    assert [token.dep_ for token in doc] == ["dep", "ROOT", "dep"]


GOOD = "1\tA\ta\tX\tT\t_\t0\troot\t_\t_\n2\tb\tb\tX\tT\t_\t1\tdep\t_\t_\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "code"),
    [
        ("\t_\n2", "\n2", 4, "DS141"),
        ("1\tA\ta\t", "1 A a ", 4, "DS141"),
        ("2\tb", "3\tb", 5, "DS142"),
        ("2\tb", "x\tb", 5, "DS142"),
        ("2\tb", "1.1.1\tb", 5, "DS142"),
        ("2\tb", f"2-{'9' * 5000}\tb", 5, "DS142"),
        ("1\tA", "1-3\tAb" + "\t_" * 8 + "\n1\tA", 4, "DS142"),
        ("2\tb", "1-2\tAb" + "\t_" * 8 + "\n2\tb", 5, "DS142"),
        ("\tb\tb", "\t\tb", 5, "DS143"),
        ("2\tb\tb\tX", "2\tb\tb\tNAME", 5, "DS144"),
        ("2\tb\tb\tX\tT\t_", "2\tb\tb\tX\tT\tPlur", 5, "DS145"),
        ("2\tb\tb\tX\tT\t_", "2\tb\tb\tX\tT\tA=b=c", 5, "DS145"),
        *(
            ("2\tb\tb\tX\tT\t_", f"2\tb\tb\tX\tT\t{feats}", 5, "DS145")
            for feats in ("", "|", "A=b|", "A=", "=b", "A=b c", "A=b,", "A=b|A=c")
        ),
        ("1\tdep", "3\tdep", 5, "DS146"),
        ("1\tdep", "-1\tdep", 5, "DS146"),
        ("1\tdep", "one\tdep", 5, "DS146"),
        ("1\tdep", "1" * 5000 + "\tdep", 5, "DS146"),
        ("0\troot", "2\troot", 4, "DS147"),
        ("1\tdep", "2\tdep", 5, "DS147"),
        ("1\tdep", "0\tdep", 5, "DS157"),
    ],
)
def test_malformed_conllu(tmp_path, old, new, line, code):
    assert old in GOOD
    bad = GOOD.replace(old, new, 1)
    path = write(tmp_path, f"{GOOD}\n{bad}\n# newdoc\n{bad}\n{GOOD}")
    with pytest.raises(ValueError, match=rf"{code}.*corpus.conllu', line {line}:"):
        convert(path, tmp_path / "out.spacy")
    assert not (tmp_path / "out.spacy").exists()
    skipped = []
    first, second = read_conllu(path, skipped=skipped)
    assert first.words == second.words == ["A", "b"]
    # What was left out marked a document.
    assert (first.starts_document, second.starts_document) == (False, True)
    assert len(skipped) == 2
    assert len(load(convert(path, tmp_path / "out.spacy", skip_bad=True))) == 2


COLUMNS = """\
-DOCSTART- -X- O

New NNP B-LOC
York NNP I-LOC

won VBD O

-DOCSTART- -X- O
# SYM O
Ann NNP I-PER
"""


def test_columns(tmp_path):
    path = write(tmp_path, COLUMNS, "corpus.conll")
    docs = load(convert(path, tmp_path, tag_column="2", level="document"))
    assert [doc.text for doc in docs] == ["New York won ", "# Ann "]
    assert [[token.tag_ for token in doc] for doc in docs] == [
        ["NNP", "NNP", "VBD"],
        ["SYM", "NNP"],
    ]
    assert [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs] == [
        [("New York", "LOC")],
        [("Ann", "PER")],
    ]
    assert [token.is_sent_start for token in docs[0]] == [True, False, True]
    assert docs[0].has_unknown_spaces
    assert len(load(convert(path, tmp_path))) == 3


def test_columns_in_any_layout(tmp_path):
    text = "# newdoc id = x\n# text = Ann  a\n1\tAnn\tU-PER\t-\n2\t#\t-\tx\n3\t\xa0\tO\tx\n"
    path = write(tmp_path, text, "corpus.iob2")
    (sentence,) = read_columns(path, Columns(word=2, entity=-2))
    assert sentence.words == ["Ann", "#", "\xa0"]
    assert sentence.ents == ["B-PER", "", "O"]
    assert sentence.starts_document
    path = write(tmp_path, "O::Ann\nO::\n", "corpus.txt")
    columns = Columns(word=2, entity=1, separator="::", empty_word="?")
    assert read_columns(path, columns)[0].words == ["Ann", "?"]
    columns = Columns(word=2, entity=None, separator="::", empty_word="?")
    assert read_columns(path, columns)[0].ents == []


@pytest.mark.parametrize(
    ("text", "columns", "line", "code"),
    [
        ("a O\nb\n", Columns(), 2, "DS149"),
        ("a O\nb\n", Columns(entity=2), 2, "DS148"),
        ("a O\nb O\n", Columns(tag=3), 1, "DS148"),
        ("a O\nb O\n", Columns(word=0), 1, "DS148"),
        ("a\tO\n\tO\n", Columns(), 2, "DS143"),
        ("a O\n\nb B-\n", Columns(), 3, "DS149"),
        ("a O\n\nb PER\n", Columns(), 3, "DS149"),
    ],
)
def test_malformed_columns(tmp_path, text, columns, line, code):
    path = write(tmp_path, text, "corpus.bio")
    with pytest.raises(ValueError, match=rf"{code}.*corpus.bio', line {line}:"):
        read_columns(path, columns)
    skipped = []
    sentences = read_columns(path, columns, skipped=skipped)
    assert len(skipped) == 1
    assert len(sentences) == text.count("\n\n")


def encode(spans, n_words, scheme):
    """Entities (start, end, label) as tags of a scheme."""
    tags = ["O"] * n_words
    previous_end, previous_label = -1, None
    for start, end, label in spans:
        for i in range(start, end):
            first, last = i == start, i == end - 1
            if scheme == "BILOU":
                kind = "U" if first and last else "B" if first else "L" if last else "I"
            elif scheme == "BIOES":
                kind = "S" if first and last else "B" if first else "E" if last else "I"
            elif scheme == "IOB2":
                kind = "B" if first else "I"
            else:
                adjoins = previous_end == start and previous_label == label
                kind = "B" if first and adjoins else "I"
            tags[i] = f"{kind}-{label}"
        previous_end, previous_label = end, label
    return tags


@st.composite
def entities(draw, n_words):
    spans, start = [], 0
    while start < n_words:
        start += draw(st.integers(0, 2))
        end = start + draw(st.integers(1, 3))
        if end <= n_words:
            spans.append((start, end, draw(st.sampled_from(["PER", "A-B", "x_1"]))))
        start = end
    return spans


@given(st.data(), st.sampled_from(["IOB1", "IOB2", "BILOU", "BIOES"]))
def test_schemes(data, scheme):
    spans = data.draw(entities(8))
    tags = encode(spans, 8, scheme)
    assert to_iob2(tags) == encode(spans, 8, "IOB2")
    doc = Doc(Vocab(), words=["w"] * 8, ents=to_iob2(tags))
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == spans


# Words may hold anything but what ends a field, a line or a file; but the lemma of an
# underscore, which is one, looks as if it were missing.
WORDS = st.text(
    st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]),
    min_size=1,
    max_size=6,
).filter(lambda word: word.strip(" ") and word[0] != "#" and word != "_")
NAMES = st.sampled_from(["NN", "a:b", "-LRB-", "#"])


@st.composite
def sentences(draw):
    n = draw(st.integers(1, 6))

    def each(strategy):
        return draw(st.lists(strategy, min_size=n, max_size=n))

    root = draw(st.integers(0, n - 1))
    # Each word hangs on one that was there before it, in a random order.
    order = [root, *draw(st.permutations([i for i in range(n) if i != root]))]
    heads = [0] * n
    for position, i in enumerate(order):
        heads[i] = order[draw(st.integers(0, max(0, position - 1)))]
    deps = [
        "ROOT" if i == root else draw(st.sampled_from(["obj", "nmod:of"]))
        for i in range(n)
    ]
    return Sentence(
        words=each(WORDS),
        spaces=each(st.booleans()),
        tags=each(NAMES),
        pos=each(st.sampled_from(["NOUN", "X", ""])),
        morphs=each(st.sampled_from(["", "A=b", "A=b|C=d"])),
        lemmas=each(st.sampled_from(["", "lemma", "two words"])),
        heads=heads,
        deps=deps,
        ents=encode(draw(entities(n)), n, "IOB2"),
        starts_document=draw(st.booleans()),
        starts_paragraph=draw(st.booleans()),
    )


def to_conllu(sentence):
    lines = ["# newdoc id = x"] * sentence.starts_document
    lines += ["# newpar"] * sentence.starts_paragraph
    for i, word in enumerate(sentence.words):
        head = sentence.heads[i]
        misc = ["SpaceAfter=No"] * (not sentence.spaces[i])
        if sentence.ents and sentence.ents[i] != "O":
            misc.append(f"Entity={sentence.ents[i]}")
        fields = [
            str(i + 1),
            word,
            sentence.lemmas[i] or "_",
            sentence.pos[i] or "_",
            sentence.tags[i] or "_",
            (sentence.morphs[i] if sentence.morphs else "") or "_",
            "0" if head == i else str(head + 1),
            "root" if head == i else sentence.deps[i],
            "_",
            "|".join(misc) or "_",
        ]
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n\n"


@given(corpus=st.lists(sentences(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_round_trip(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("corpus")
    path = write(folder, "".join(map(to_conllu, corpus)))
    for name, nothing in (("ents", "O"), ("morphs", "")):
        if all(value == nothing for row in corpus for value in getattr(row, name)):
            for sentence in corpus:
                setattr(sentence, name, [])
    assert read_conllu(path) == corpus
    docs = load(convert(path, folder / "out.spacy", level="document"))
    starts = [i for i, one in enumerate(corpus) if i == 0 or one.starts_document]
    assert len(docs) == len(starts)
    found = [sentence for doc in docs for sentence in from_doc(doc)]
    for one, other in zip(corpus, found, strict=True):
        for name in ("words", "spaces", "tags", "pos", "lemmas", "heads", "deps"):
            assert getattr(one, name) == getattr(other, name)
        assert one.ents in ([], other.ents)
        assert one.morphs in ([], other.morphs)


def from_doc(doc):
    for sent in doc.sents:
        yield Sentence(
            words=[token.text for token in sent],
            spaces=[bool(token.whitespace_) for token in sent],
            tags=[token.tag_ for token in sent],
            pos=[token.pos_ for token in sent],
            morphs=[str(token.morph) for token in sent],
            lemmas=[token.lemma_ for token in sent],
            heads=[token.head.i - sent.start for token in sent],
            deps=[token.dep_ for token in sent],
            ents=[
                f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"
                for token in sent
            ],
        )


@given(corpus=st.lists(sentences(), min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_round_trip_of_columns(tmp_path_factory, corpus):
    rows = [
        "".join(
            f"{word}\t{tag}\n" for word, tag in zip(one.words, one.ents, strict=True)
        )
        for one in corpus
    ]
    path = write(tmp_path_factory.mktemp("corpus"), "\n".join(rows), "corpus.iob")
    columns = Columns(document_mark="")
    found = read_columns(path, columns)
    assert [(one.words, one.ents) for one in found] == [
        (one.words, one.ents) for one in corpus
    ]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_embedded_corpus(split):
    path = ASSETS / f"{split}.conllu"
    text = path.read_text("utf8")
    sentences = read_conllu(path)
    assert len(sentences) == text.count("\n# text = ") + text.startswith("# text = ")
    # Every word, head and entity comes back as it stands in the file.
    rows = [line for line in text.split("\n") if re.match(r"[0-9]+\t", line)]
    again = [
        line
        for sentence in sentences
        for line in to_conllu(sentence).split("\n")
        if re.match(r"[0-9]+\t", line)
    ]
    assert [sorted_misc(row) for row in again] == [sorted_misc(row) for row in rows]


def test_embedded_documents(tmp_path):
    path = ASSETS / "dev.conllu"
    text = path.read_text("utf8")
    docs = load(convert(path, tmp_path, level="sentence"))
    texts = re.findall(r"^# text = (.*)$", text, flags=re.MULTILINE)
    assert [doc.text.rstrip(" ") for doc in docs] == texts
    documents = load(convert(path, tmp_path, level="document"))
    assert len(documents) == text.count("# newdoc")
    # And from documents back to sentences.
    whole = convert(path, tmp_path / "whole.spacy", level="document")
    assert [
        doc.to_json() for doc in load(convert(whole, tmp_path / "parts.spacy"))
    ] == [doc.to_json() for doc in docs]


def sorted_misc(row):
    *fields, misc = row.split("\t")
    return [*fields, *sorted(misc.split("|"))]


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["ud_en_ewt", "ud_pt_bosque"])
def test_real_corpora(corpora, corpus):
    folder = corpora / corpus
    if not folder.is_dir():
        pytest.skip(f"{corpus} is not in DYNSEL_DATA")
    path = folder / "dev.conllu"
    sentences = read_conllu(path, tag_column="upos")
    texts = re.findall(r"^# text = (.*)$", path.read_text("utf8"), flags=re.MULTILINE)
    assert len(sentences) == len(texts)
    docs = make_docs(Vocab(), sentences)
    # Texts differ where words are contracted, which the ranges of words tell.
    same = sum(doc.text.strip() == text for doc, text in zip(docs, texts, strict=True))
    assert same > 0.2 * len(texts)
    n_words = sum(len(sentence.words) for sentence in sentences)
    rows = re.findall(r"^[0-9]+\t", path.read_text("utf8"), flags=re.MULTILINE)
    assert n_words == len(rows)


def test_output_is_replaced_as_a_whole(tmp_path):
    output = tmp_path / "out.spacy"
    convert(write(tmp_path, GOOD), output)
    before = output.read_bytes()
    with pytest.raises(ValueError, match="DS141"):
        convert(write(tmp_path, "1\tA\n"), output)
    assert output.read_bytes() == before
    convert(write(tmp_path, CONLLU), output)
    assert len(load(output)) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"out.spacy", "corpus.conllu"}


@pytest.mark.parametrize(
    ("name", "data", "settings", "code"),
    [
        ("x.conllu", b"\n1\tcaf\xe9" + b"\t_" * 8, {}, "DS140.*line 2"),
        ("x.xyz", b"a O\n", {}, "DS150.*--format"),
        ("x.conllu", GOOD.encode(), {"tag_column": "2"}, "DS151.*xpos, upos"),
        ("x.iob", b"a O\n", {"tag_column": "upos"}, "DS151.*number"),
        ("x.conllu", b"# newdoc\n\n", {}, "DS152"),
        ("x.iob", b"", {}, "DS152"),
        ("x.iob", b"a O\n", {"lang": "zzz"}, "DS153.*zzz"),
        ("x.spacy", b"not a DocBin", {}, "DS154"),
        ("x.spacy", b"", {"level": "paragraph"}, "DS156"),
    ],
)
def test_bad_input(tmp_path, name, data, settings, code):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match=code):
        convert(path, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_needs_no_tokenizer(tmp_path, monkeypatch):
    """Some languages have one only where further packages are installed."""
    monkeypatch.setitem(sys.modules, "sudachipy", None)
    with pytest.raises(ImportError):
        spacy.blank("ja")
    assert load(convert(write(tmp_path, GOOD), tmp_path, lang="ja"))


def run(*arguments):
    command = [sys.executable, "-m", "spacy", "dynsel", "convert", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command(tmp_path):
    path = write(tmp_path, f"{CONLLU}\n1\tbad\n", "corpus.txt")
    failed = run(path, tmp_path / "out", "--format", "conllu")
    assert failed.returncode == 1
    assert "DS141" in failed.stdout and "Traceback" not in failed.stderr
    done = run(
        path, tmp_path / "out", "-f", "conllu", "--documents", "--skip-bad", "-l", "es"
    )
    assert done.returncode == 0
    printed = " ".join(done.stdout.split())
    n_lines = path.read_text("utf8").count("\n")
    assert "1 malformed" in printed and f"line {n_lines}" in printed
    assert len(load(tmp_path / "out" / "corpus.spacy")) == 2


def test_training_takes_it(tmp_path):
    """What is converted is what spaCy's reader of corpora expects."""
    path = convert(ASSETS / "dev.conllu", tmp_path / "dev.spacy", format=Format.CONLLU)
    nlp = spacy.blank("en")
    examples = list(spacy.training.Corpus(path)(nlp))
    assert len(examples) == len(load(path))
    assert examples[0].reference.has_annotation("DEP")
