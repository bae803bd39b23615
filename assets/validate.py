#!/usr/bin/env python3
"""Check the corpus files train.conllu, dev.conllu and test.conllu.

Usage: python validate.py [FOLDER [SUMMARY]]

FOLDER is the folder of this script unless given. Prints a summary with counts, and
writes it to the file SUMMARY if that is given.
Every fault is reported on stderr as ``file:line: message``, and the exit status
is then 1. Needs Python 3.10 or newer and nothing beyond the standard library.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SPLITS = ("train", "dev", "test")
GENRES_REQUIRED = {
    "news",
    "chat",
    "manual",
    "story",
    "review",
    "science",
    "law",
    "recipe",
}


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UPOS = names(
    """
    ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB
    X
    """
)
# The Penn tags as UD English EWT uses them.
XPOS = names(
    """
    $ '' , -LRB- -RRB- . : ADD AFX CC CD DT EX FW GW HYPH IN JJ JJR JJS LS MD
    NFP NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN
    VBP VBZ WDT WP WP$ WRB ``
    """
)
# The 37 universal relations of UD v2, and the subtypes that occur in EWT.
DEPREL = names(
    """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj
    dep det discourse dislocated expl fixed flat goeswith iobj list mark nmod
    nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp
    acl:relcl advcl:relcl aux:pass cc:preconj compound:prt csubj:outer
    csubj:pass det:predet nmod:desc nmod:poss nmod:unmarked nsubj:outer
    nsubj:pass obl:agent obl:unmarked
    """
)
# The features that words of each part of speech may have, and their values. What
# every such word has is marked by an exclamation mark.
FEATURES = """
ADJ Degree!=Pos,Cmp,Sup NumForm=Combi,Word NumType=Frac,Ord
ADP
ADV Degree=Pos,Cmp,Sup NumForm=Word NumType=Frac,Mult,Ord
ADV PronType=Dem,Ind,Int,Neg,Rel,Tot
AUX Mood=Imp,Ind,Sub Number=Plur,Sing Person=1,2,3 Tense=Past,Pres
AUX VerbForm!=Fin,Inf,Part
CCONJ Polarity=Neg
DET Definite=Def,Ind NumForm=Word NumType=Frac Number=Plur,Sing
DET PronType!=Art,Dem,Ind,Int,Neg,Rcp,Rel,Tot
INTJ Polarity=Neg,Pos
NOUN Number!=Plur,Ptan,Sing NumForm=Combi,Word NumType=Card,Frac,Ord
NUM NumForm=Digit,Roman,Word NumType=Card,Frac
PART Polarity=Neg
PRON Case=Acc,Gen,Nom Gender=Fem,Masc,Neut Number=Plur,Sing Person=1,2,3 Poss=Yes
PRON PronType!=Dem,Emp,Ind,Int,Neg,Prs,Rcp,Rel,Tot Reflex=Yes
PROPN Number=Plur,Ptan,Sing
PUNCT
SCONJ
SYM Number=Sing
VERB Mood=Imp,Ind,Sub Number=Plur,Sing Person=1,2,3 Tense=Past,Pres
VERB VerbForm!=Fin,Ger,Inf,Part Voice=Pass
X Foreign=Yes
"""
# The features that words of any part of speech may have.
ANYWHERE = {
    "Abbr": {"Yes"},
    "ExtPos": {"ADP", "ADV", "CCONJ", "PRON", "SCONJ"},
    "Style": {"Arch", "Coll", "Expr", "Slng", "Vrnc"},
    "Typo": {"Yes"},
}
AGREEMENT = r"Number=(Plur|Sing)\|Person=[123]"
NUMBERED = r"(\|NumForm=\w+\|NumType=\w+)?"
# The features, without those that may stand anywhere, of words with these tags.
FEATS_OF_XPOS = {
    "CC": r"(Polarity=Neg)?",
    "CD": r"NumForm=\w+\|NumType=(Card|Frac)|PronType=Rcp",
    "DT": r"Definite=(Def|Ind)\|PronType=Art|(Number=\w+\|)?PronType=(Dem|Ind|Neg|Rcp|Tot)",
    "EX": r"PronType=Dem",
    "IN": r"",
    "JJ": rf"Degree=Pos{NUMBERED}",
    "JJR": r"Degree=Cmp",
    "JJS": r"Degree=Sup",
    "MD": r"VerbForm=Fin",
    "NN": rf"Number=Sing{NUMBERED}|(Number=Sing\|)?PronType=(Ind|Neg|Tot)",
    "NNP": rf"Number=Sing|Degree=\w+{NUMBERED}",
    "NNPS": r"Number=(Plur|Ptan)",
    "NNS": rf"Number=(Plur|Ptan){NUMBERED}",
    "PDT": r"(NumForm=Word\|NumType=Frac\|)?PronType=(Ind|Tot)",
    "POS": r"",
    "PRP": r".*PronType=(Emp|Prs)(\|Reflex=Yes)?",
    "PRP$": r"Case=Gen\|.*Poss=Yes\|PronType=Prs",
    "RBR": r"Degree=Cmp",
    "RBS": r"Degree=Sup",
    "RP": r"",
    "TO": r"",
    "VB": rf"VerbForm=Inf|Mood=(Imp|Sub\|{AGREEMENT}\|Tense=Pres)\|VerbForm=Fin",
    "VBD": rf"Mood=(Ind|Sub)\|{AGREEMENT}\|Tense=Past\|VerbForm=Fin",
    "VBG": r"Tense=Pres\|VerbForm=Part|VerbForm=Ger",
    "VBN": r"Tense=Past\|VerbForm=Part(\|Voice=Pass)?",
    "VBP": rf"Mood=Ind\|{AGREEMENT}\|Tense=Pres\|VerbForm=Fin",
    "VBZ": r"Mood=Ind\|Number=Sing\|Person=3\|Tense=Pres\|VerbForm=Fin",
    "WDT": r"PronType=(Int|Rel)",
    "WP": r"PronType=(Int|Rel)",
    "WP$": r"Poss=Yes\|PronType=(Int|Rel)",
    "WRB": r"PronType=(Int|Rel)",
}
# Lemmas with capitals, apart from names.
CAPITALS = names(
    """
    A A. AD B C CR2032 F GB I PIN PhD Q. TV USB
    Jamaican Roman Swedish Uruguayan
    """
)
# Words with two lemmas though their part of speech and features are the same.
AMBIGUOUS = {("'s", "AUX"): {"be", "have"}}
ENTITY = re.compile(r"^[BI]-(PER|ORG|LOC)$")
SENT_ID = re.compile(r"^([a-z]+-\d{3})-(\d{2})$")
COMMENT = re.compile(r"^# (newdoc id|sent_id|text) = (.+)$")


@dataclass
class Token:
    line: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: dict[str, str]
    head: int
    deprel: str
    misc: dict[str, str]


@dataclass
class Sentence:
    line: int
    doc: str
    sent_id: str = ""
    text: str = ""
    tokens: list[Token] = field(default_factory=list)


class Report:
    """Collects the faults of all files."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def add(self, path: Path, line: int, message: str) -> None:
        self.faults.append(f"{path.name}:{line}: {message}")


def parse_pairs(value: str) -> dict[str, str] | None:
    """FEATS or MISC as a dictionary, or None where it is malformed."""
    if value == "_":
        return {}
    result: dict[str, str] = {}
    for part in value.split("|"):
        key, equals, content = part.partition("=")
        if not (key and equals and content) or key in result:
            return None
        result[key] = content
    return result


def parse_token(
    path: Path, number: int, line: str, expected: int, report: Report
) -> Token | None:
    columns = line.split("\t")
    if len(columns) != 10:
        report.add(path, number, f"{len(columns)} columns, not 10")
        return None
    if any(not c or c != c.strip() for c in columns):
        report.add(path, number, "a column is empty or has space around it")
    if columns[0] != str(expected):
        report.add(path, number, f"token id {columns[0]!r}, expected {expected}")
    if not columns[6].isdecimal():
        report.add(path, number, f"head {columns[6]!r} is not a number")
        return None
    pairs: dict[str, dict[str, str]] = {}
    for name, value in (("FEATS", columns[5]), ("MISC", columns[9])):
        found = parse_pairs(value)
        if found is None:
            report.add(path, number, f"malformed {name} {value!r}")
        pairs[name] = found or {}
    form, lemma, upos, xpos = columns[1:5]
    return Token(
        number,
        form,
        lemma,
        upos,
        xpos,
        pairs["FEATS"],
        int(columns[6]),
        columns[7],
        pairs["MISC"],
    )


def read(path: Path, report: Report) -> list[Sentence]:
    """All sentences of a file; faults of form go to the report."""
    sentences: list[Sentence] = []
    current: Sentence | None = None
    doc = ""
    number = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line:
            if current is not None:
                if not current.tokens:
                    report.add(path, current.line, "sentence without words")
                sentences.append(current)
                current = None
            continue
        if current is None:
            current = Sentence(number, doc)
        if line.startswith("#"):
            match = COMMENT.match(line)
            if match is None:
                report.add(path, number, f"unknown comment {line!r}")
            elif current.tokens:
                report.add(path, number, "comment after the first word")
            elif match[1] == "newdoc id":
                doc = current.doc = match[2]
            elif match[1] == "sent_id":
                current.sent_id = match[2]
            else:
                current.text = match[2]
            continue
        token = parse_token(path, number, line, len(current.tokens) + 1, report)
        if token is not None:
            current.tokens.append(token)
    if current is not None:
        report.add(path, number, "the file does not end with an empty line")
        sentences.append(current)
    return sentences


def check_tree(path: Path, sentence: Sentence, report: Report) -> None:
    tokens = sentence.tokens
    roots = sum(token.head == 0 for token in tokens)
    if roots != 1:
        report.add(path, sentence.line, f"{roots} roots in {sentence.sent_id}")
    for position, token in enumerate(tokens, 1):
        if token.head > len(tokens) or token.head == position:
            report.add(path, token.line, f"head {token.head} out of range")
            return
        if (token.head == 0) != (token.deprel == "root"):
            report.add(
                path, token.line, f"relation {token.deprel!r} with head {token.head}"
            )
    for position, token in enumerate(tokens, 1):
        seen = set()
        node = position
        while node and node not in seen:
            seen.add(node)
            node = tokens[node - 1].head
        if node:
            report.add(path, token.line, "cycle")
            return


def check_labels(path: Path, sentence: Sentence, report: Report) -> None:
    previous = "O"
    for token in sentence.tokens:
        if token.upos not in UPOS:
            report.add(path, token.line, f"unknown UPOS {token.upos!r}")
        if token.xpos not in XPOS:
            report.add(path, token.line, f"unknown XPOS {token.xpos!r}")
        if token.deprel not in DEPREL:
            report.add(path, token.line, f"unknown relation {token.deprel!r}")
        for key in token.misc.keys() - {"SpaceAfter", "Entity"}:
            report.add(path, token.line, f"unknown key {key!r} in MISC")
        if token.misc.get("SpaceAfter", "No") != "No":
            report.add(path, token.line, "SpaceAfter other than No")
        entity = token.misc.get("Entity", "O")
        if entity != "O" and not ENTITY.match(entity):
            report.add(path, token.line, f"malformed entity {entity!r}")
        elif entity[0] == "I" and previous[2:] != entity[2:]:
            report.add(path, token.line, f"{entity} after {previous}")
        previous = entity


@cache
def read_features() -> tuple[dict[str, dict[str, set[str]]], dict[str, set[str]]]:
    """The values of each feature of each part of speech, and what it must have."""
    allowed: dict[str, dict[str, set[str]]] = {}
    needed: dict[str, set[str]] = {}
    for row in FEATURES.strip().split("\n"):
        upos, *features = row.split()
        known = allowed.setdefault(upos, dict(ANYWHERE))
        for feature in features:
            name, _, values = feature.partition("=")
            if name.endswith("!"):
                name = name.removesuffix("!")
                needed.setdefault(upos, set()).add(name)
            known[name] = set(values.split(","))
    return allowed, needed


def check_feats(path: Path, sentence: Sentence, report: Report) -> None:
    allowed, needed = read_features()
    words = sentence.tokens
    relations: dict[int, set[str]] = {}
    for token in words:
        relations.setdefault(token.head, set()).add(token.deprel)
    for position, token in enumerate(words, 1):
        feats = token.feats
        if list(feats) != sorted(feats, key=str.lower):
            report.add(path, token.line, f"features not in order: {'|'.join(feats)}")
        for name, value in feats.items():
            if value not in allowed.get(token.upos, {}).get(name, ()):
                report.add(
                    path,
                    token.line,
                    f"feature {name}={value} of a word with {token.upos}",
                )
        for name in sorted(needed.get(token.upos, set()) - feats.keys()):
            report.add(path, token.line, f"{token.upos} without {name}")
        rest = "|".join(f"{n}={v}" for n, v in feats.items() if n not in ANYWHERE)
        if not re.fullmatch(FEATS_OF_XPOS.get(token.xpos, ".*"), rest):
            report.add(
                path, token.line, f"features {rest!r} of a word with {token.xpos}"
            )
        children = relations.get(position, set())
        if ("ExtPos" in feats) != ("fixed" in children):
            report.add(
                path, token.line, "ExtPos, or a fixed expression, without the other"
            )
        if "aux:pass" in children and feats.get("Voice") != "Pass":
            report.add(
                path, token.line, "passive auxiliary of a word without Voice=Pass"
            )


def check_lemmas(
    corpus: dict[str, list[Sentence]], paths: dict[str, Path], report: Report
) -> None:
    """Each lemma, and whether like words have the same one in all files."""
    seen: dict[tuple[str, ...], str] = {}
    rows = [(paths[split], s) for split, found in corpus.items() for s in found]
    for path, token in [(path, token) for path, s in rows for token in s.tokens]:
        lemma = token.lemma
        is_name = token.upos == "PROPN" or token.xpos == "NNP"
        if lemma == "_" != token.form:
            report.add(path, token.line, "no lemma")
        elif not is_name and lemma != lemma.lower() and lemma not in CAPITALS:
            report.add(path, token.line, f"capital in the lemma {lemma!r}")
        elif (
            token.xpos in ("JJ", "NN", "VB")
            and not token.feats.keys() & {"Abbr", "Style", "Typo"}
            and lemma.lower() != token.form.lower()
        ):
            report.add(path, token.line, f"lemma {lemma!r} of a word in its basic form")
        word = token.form.lower()
        if lemma in AMBIGUOUS.get((word, token.upos), ()):
            continue
        feats = "|".join(f"{name}={value}" for name, value in token.feats.items())
        first = seen.setdefault((word, token.upos, token.xpos, feats), lemma)
        if lemma != first:
            report.add(path, token.line, f"lemma {lemma!r}, elsewhere {first!r}")


def check_text(path: Path, sentence: Sentence, report: Report) -> None:
    words = sentence.tokens
    text = "".join(
        token.form + ("" if "SpaceAfter" in token.misc or token is words[-1] else " ")
        for token in words
    )
    if text != sentence.text:
        report.add(
            path, sentence.line, f"text {sentence.text!r} is not the words {text!r}"
        )


def is_projective(sentence: Sentence) -> bool:
    """Whether no two arcs cross, the arc to the root included."""
    arcs = [
        (min(token.head, position), max(token.head, position))
        for position, token in enumerate(sentence.tokens, 1)
    ]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def entities(sentence: Sentence) -> Counter[str]:
    labels = (token.misc.get("Entity", "O") for token in sentence.tokens)
    return Counter(label[2:] for label in labels if label[0] == "B")


def check_ids(
    corpus: dict[str, list[Sentence]], paths: dict[str, Path], report: Report
) -> None:
    """Names and texts across all files."""
    ids: dict[str, str] = {}
    texts: dict[str, str] = {}
    docs: dict[str, str] = {}
    for split, sentences in corpus.items():
        path = paths[split]
        previous_doc, index = "", 0
        for s in sentences:
            match = SENT_ID.match(s.sent_id)
            index = index + 1 if s.doc == previous_doc else 1
            if match is None or match[1] != s.doc or int(match[2]) != index:
                report.add(
                    path,
                    s.line,
                    f"sent_id {s.sent_id!r} does not fit document {s.doc!r}",
                )
            if s.doc != previous_doc and s.doc in docs:
                report.add(path, s.line, f"document {s.doc} already in {docs[s.doc]}")
            docs.setdefault(s.doc, split)
            if ids.setdefault(s.sent_id, f"{split}:{s.line}") != f"{split}:{s.line}":
                report.add(
                    path, s.line, f"sent_id {s.sent_id} already at {ids[s.sent_id]}"
                )
            key = s.text.casefold()
            if texts.setdefault(key, s.sent_id) != s.sent_id:
                report.add(path, s.line, f"same text as {texts[key]}")
            previous_doc = s.doc


def summary(corpus: dict[str, list[Sentence]]) -> str:
    def row(name: str, sentences: list[Sentence]) -> str:
        counts: Counter[str] = sum((entities(s) for s in sentences), Counter())
        words = sum(len(s.tokens) for s in sentences)
        crossing = sum(not is_projective(s) for s in sentences)
        return (
            f"{name:<9}{len({s.doc for s in sentences}):>6}{len(sentences):>11}{words:>8}"
            f"{counts['PER']:>6}{counts['ORG']:>6}{counts['LOC']:>6}{crossing:>16}"
        )

    everything = [s for sentences in corpus.values() for s in sentences]
    genres = sorted({s.doc.rpartition("-")[0] for s in everything})
    lines = [
        f"{'':<9}{'docs':>6}{'sentences':>11}{'words':>8}{'PER':>6}{'ORG':>6}{'LOC':>6}"
        f"{'non-projective':>16}"
    ]
    lines += [row(split, sentences) for split, sentences in corpus.items()]
    lines += [
        row(genre, [s for s in everything if s.doc.rpartition("-")[0] == genre])
        for genre in genres
    ]
    lines.append(row("all", everything))
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    folder = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parent
    report = Report()
    paths = {split: folder / f"{split}.conllu" for split in SPLITS}
    missing = [path for path in paths.values() if not path.is_file()]
    if missing:
        for path in missing:
            print(f"{path.name}:0: no such file", file=sys.stderr)
        return 1
    corpus = {split: read(path, report) for split, path in paths.items()}
    for split, sentences in corpus.items():
        for sentence in sentences:
            check_tree(paths[split], sentence, report)
            check_labels(paths[split], sentence, report)
            check_feats(paths[split], sentence, report)
            check_text(paths[split], sentence, report)
        genres = {s.doc.rpartition("-")[0] for s in sentences}
        for genre in sorted(GENRES_REQUIRED - genres):
            report.add(paths[split], 0, f"no document of the genre {genre}")
    check_ids(corpus, paths, report)
    check_lemmas(corpus, paths, report)
    for fault in report.faults:
        print(fault, file=sys.stderr)
    text = f"{summary(corpus)}\n{len(report.faults) or 'no'} faults"
    print(text)
    if len(argv) > 2:
        Path(argv[2]).write_text(text + "\n", encoding="utf8")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
