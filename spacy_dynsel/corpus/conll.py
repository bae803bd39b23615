"""Corpora in files of one word a line: CoNLL-U, and columns with entities in IOB, IOB2
or BILOU. spaCy's own readers leave out the marks of documents and do not say where a
file is malformed."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..base.errors import Errors

Level: TypeAlias = Literal["sentence", "paragraph", "document"]

N_COLUMNS = 10
EMPTY = "_"
# What spaCy calls an arc of which only the head is known.
UNKNOWN_LABEL = "dep"
# No sentence has as many words as this number could say.
NUMBER = "[0-9]{1,9}"
# A feature may have several values, with commas between them.
FEATURE = re.compile(r"([^\s=|]+)=[^\s=|,]+(?:,[^\s=|,]+)*")
# E and S are what some call L and U.
ENTITY = re.compile(r"[BILUES]-.+")
# How entities stand in the last column of CoNLL-U. Coreference, which some corpora have
# under the same name, looks different.
MISC_ENTITY = re.compile(r"(?:(?:Entity|NER|NE|name)=)?([BILUES]-[^=]+)")


class Range(NamedTuple):
    """Words that are one in the text: from start to end, and what stands there."""

    start: int
    end: int
    form: str


@dataclass
class Sentence:
    """The words of a sentence and what is known about each: whether a space follows, its
    tag, part of speech, features and lemma, its head and the label of the arc to it, and
    its IOB2 tag. A list of what a corpus does not tell is empty; where it does not tell
    it of one word, there is None or an empty string. Ranges are words of CoNLL-U that are
    one in the text."""

    words: list[str] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    pos: list[str] = field(default_factory=list)
    morphs: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    heads: list[int | None] = field(default_factory=list)  # roots are their own heads
    deps: list[str | None] = field(default_factory=list)
    ents: list[str] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    starts_document: bool = False
    starts_paragraph: bool = False


class Line(NamedTuple):
    text: str
    number: int
    path: Path

    def error(self, message: str, **values: Any) -> ValueError:
        """An error that names this line."""
        return ValueError(message.format(path=self.path, line=self.number, **values))


@dataclass
class Columns:
    """Where things stand in a line. Columns are counted from 1, or from the end with
    negative numbers.

    word (int), entity (int), tag (int): The columns; None for what there is not.
    separator (str): What stands between columns. None for tabs where the file has any,
        else one or more spaces.
    document_mark (str): What a line begins with that stands between documents.
    empty_word (str): What to write for words that are empty. None if they are errors.
    """

    word: int = 1
    entity: int | None = -1
    tag: int | None = None
    separator: str | None = None
    document_mark: str = "-DOCSTART-"
    empty_word: str | None = None


def read_conllu(
    path: Path, *, tag_column: str = "xpos", skipped: list[str] | None = None
) -> list[Sentence]:
    """Read a CoNLL-U file. Multiword ranges count for their spaces, and are kept for
    `join_subtokens`; empty nodes and enhanced dependencies, which a Doc has no place for,
    do not count. A lemma _ is missing, unless the word is _ itself. FEATS _ are no
    features where the file has any, else unknown; Docs have features in spaCy's order,
    whatever theirs is in the file.

    path (Path): The file.
    tag_column (str): Which tags to read: "xpos" or "upos".
    skipped (list[str]): Where to put what is wrong with the sentences that are left out
        because of malformed lines. None if these are errors.
    """

    def parse(block: list[Line], sentence: Sentence) -> None:
        _parse_conllu(block, sentence, tag_column)

    sentences = _read_sentences(_read_blocks(path), parse, skipped)
    # A file without a single entity, or feature, says nothing about them.
    for name, nothing in (("ents", "O"), ("morphs", "")):
        values = [getattr(sentence, name) for sentence in sentences]
        if all(value == nothing for row in values for value in row):
            for row in values:
                row.clear()
    return sentences


def read_columns(
    path: Path, columns: Columns | None = None, *, skipped: list[str] | None = None
) -> list[Sentence]:
    """Read a file with a word and its entity tag in each line, and empty lines between
    sentences. In files with tabs, lines without any that begin with # are comments,
    which may mark documents and paragraphs as in CoNLL-U.

    path (Path): The file.
    columns (Columns): Where things stand in a line.
    skipped (list[str]): See read_conllu.
    """
    columns = columns or Columns()
    blocks = list(_read_blocks(path, columns.document_mark))
    separator = columns.separator
    if separator is None and any(
        "\t" in line.text for block in blocks for line in block
    ):
        separator = "\t"

    def parse(block: list[Line], sentence: Sentence) -> None:
        _parse_columns(block, sentence, columns, separator)

    return _read_sentences(blocks, parse, skipped)


def make_docs(
    vocab: Vocab, sentences: Iterable[Sentence], level: Level = "sentence"
) -> Iterator[Doc]:
    """Docs with all that is known, one for each sentence, paragraph or document."""
    group: list[Sentence] = []
    for sentence in sentences:
        starts = (
            level == "sentence"
            or sentence.starts_document
            or (level == "paragraph" and sentence.starts_paragraph)
        )
        if group and starts:
            yield _make_doc(vocab, group)
            group = []
        group.append(sentence)
    if group:
        yield _make_doc(vocab, group)


def _make_doc(vocab: Vocab, group: list[Sentence]) -> Doc:
    def join(name: str) -> list[Any] | None:
        return [item for sentence in group for item in getattr(sentence, name)] or None

    names = ("words", "spaces", "tags", "pos", "morphs", "lemmas", "deps", "ents")
    heads: list[int | None] = []
    for sentence in group:
        start = len(heads)
        heads += [None if head is None else start + head for head in sentence.heads]
    starts = [i == 0 for sentence in group for i in range(len(sentence.words))]
    return Doc(
        vocab,
        **{name: join(name) for name in names},
        heads=heads or None,
        sent_starts=starts,
    )


def _read_blocks(path: Path, document_mark: str = "") -> Iterator[list[Line]]:
    """The lines between empty ones. A mark between documents begins a block."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = Line("", 1 + data.count(b"\n", 0, error.start), path)
        raise bad.error(Errors.DS140) from error
    block: list[Line] = []
    # Not splitlines(): words may hold other separators that Unicode knows.
    for number, row in enumerate(text.split("\n"), start=1):
        line = Line(row.removesuffix("\r"), number, path)
        is_mark = bool(document_mark) and line.text.startswith(document_mark)
        # A word may be a space of another kind.
        is_empty = not line.text.strip(" \t")
        if block and (is_mark or is_empty):
            yield block
            block = []
        if not is_empty:
            block.append(line)
    if block:
        yield block


def _read_sentences(
    blocks: Iterable[list[Line]],
    parse: Callable[[list[Line], Sentence], None],
    skipped: list[str] | None,
) -> list[Sentence]:
    sentences = []
    starts_document = starts_paragraph = False
    for block in blocks:
        sentence = Sentence(
            starts_document=starts_document, starts_paragraph=starts_paragraph
        )
        usable = True
        try:
            parse(block, sentence)
        except ValueError as error:
            if skipped is None:
                raise
            skipped.append(str(error))
            usable = False
        if usable and sentence.words:
            sentences.append(sentence)
            starts_document = starts_paragraph = False
        else:
            # The marks count for the next one.
            starts_document = sentence.starts_document
            starts_paragraph = sentence.starts_paragraph
    return sentences


def _read_mark(comment: str, sentence: Sentence) -> None:
    content = comment[1:].strip()
    if content.startswith("newdoc"):
        sentence.starts_document = True
    elif content.startswith("newpar"):
        sentence.starts_paragraph = True


def _parse_conllu(block: list[Line], sentence: Sentence, tag_column: str) -> None:
    rows: list[tuple[Line, list[str]]] = []
    ranges: list[tuple[Line, Range, bool]] = []
    for line in block:
        if line.text.startswith("#"):
            _read_mark(line.text, sentence)
    for line in block:
        if line.text.startswith("#"):
            continue
        fields = line.text.split("\t")
        if len(fields) != N_COLUMNS:
            raise line.error(Errors.DS141, n=len(fields))
        number = fields[0]
        if number == str(len(rows) + 1):
            rows.append((line, fields))
        elif found := re.fullmatch(f"({NUMBER})-({NUMBER})", number):
            first, last = int(found[1]), int(found[2])
            covered = ranges[-1][1].end if ranges else 0
            if not covered < first == len(rows) + 1 <= last:
                raise line.error(Errors.DS142, number=number, expected=len(rows) + 1)
            if not fields[1]:
                raise line.error(Errors.DS143)
            found_range = Range(first - 1, last, fields[1])
            ranges.append((line, found_range, _space_after(fields)))
        elif not re.fullmatch(rf"{len(rows)}\.[1-9][0-9]*", number):
            raise line.error(Errors.DS142, number=number, expected=len(rows) + 1)
    for line, fields in rows:
        _parse_word(line, fields, sentence, tag_column, len(rows))
    _check_tree([line for line, _ in rows], sentence)
    sentence.ents = to_iob2(sentence.ents)
    for line, (start, end, _), space in ranges:
        if end > len(rows):
            raise line.error(
                Errors.DS142, number=f"{start + 1}-{end}", expected=len(rows) + 1
            )
        sentence.spaces[start:end] = [False] * (end - start - 1) + [space]
    sentence.ranges = [one for _, one, _ in ranges]


def _parse_word(
    line: Line, fields: list[str], sentence: Sentence, tag_column: str, n_words: int
) -> None:
    word, lemma, upos, xpos, feats, head, dep = fields[1:8]
    tag = xpos if tag_column == "xpos" else upos
    if not word:
        raise line.error(Errors.DS143)
    if upos not in PARTS_OF_SPEECH and upos != EMPTY:
        raise line.error(Errors.DS144, upos=upos)
    if feats != EMPTY and not _is_feats(feats):
        raise line.error(Errors.DS145, feats=feats)
    if head != EMPTY and not (re.fullmatch(NUMBER, head) and int(head) <= n_words):
        raise line.error(Errors.DS146, head=head, n_words=n_words)
    position = len(sentence.words)
    if head == fields[0]:
        raise line.error(Errors.DS147)
    sentence.words.append(word)
    sentence.spaces.append(_space_after(fields))
    sentence.tags.append(_or_nothing(tag))
    sentence.pos.append(_or_nothing(upos))
    sentence.morphs.append(_or_nothing(feats))
    sentence.lemmas.append(lemma if lemma == word else _or_nothing(lemma))
    if head == EMPTY:
        sentence.heads.append(None)
        sentence.deps.append(None)
    else:
        is_root = int(head) == 0
        sentence.heads.append(position if is_root else int(head) - 1)
        # Without a label, a Doc would lose the head.
        label = _or_nothing(dep) or ("root" if is_root else UNKNOWN_LABEL)
        sentence.deps.append("ROOT" if label == "root" else label)
    sentence.ents.append(_misc_entity(fields[9]))


def _is_feats(feats: str) -> bool:
    """Whether all features are well formed and no name comes twice. Of two values spaCy
    would keep the last without a word."""
    found = [FEATURE.fullmatch(feature) for feature in feats.split("|")]
    names = [match[1] for match in found if match]
    return len(set(names)) == len(found)


def _or_nothing(value: str) -> str:
    return "" if value == EMPTY else value


def _space_after(fields: list[str]) -> bool:
    return "SpaceAfter=No" not in fields[9].split("|")


def _misc_entity(misc: str) -> str:
    for part in misc.split("|"):
        if found := MISC_ENTITY.fullmatch(part):
            return found[1]
    return "O"


def _check_tree(lines: list[Line], sentence: Sentence) -> None:
    """From each word the heads lead to a root, and there is one: Docs have a sentence
    for each."""
    roots = [i for i, head in enumerate(sentence.heads) if head == i]
    if len(roots) > 1:
        raise lines[roots[1]].error(Errors.DS157)
    safe: set[int] = set()
    for start in range(len(lines)):
        path: set[int] = set()
        i = start
        while i not in safe:
            head = sentence.heads[i]
            path.add(i)
            if head is None or head == i:
                break
            if head in path:
                raise lines[head].error(Errors.DS147)
            i = head
        safe.update(path)


def _parse_columns(
    block: list[Line], sentence: Sentence, columns: Columns, separator: str | None
) -> None:
    ents: list[str] = []
    rows = []
    for line in block:
        if columns.document_mark and line.text.startswith(columns.document_mark):
            sentence.starts_document = True
        elif separator == "\t" and line.text.startswith("#") and "\t" not in line.text:
            _read_mark(line.text, sentence)
        else:
            rows.append(line)
    for line in rows:
        if separator is None:
            fields = re.split(" +", line.text.strip(" "))
        else:
            fields = line.text.split(separator)
        word = _get(line, fields, columns.word) or columns.empty_word
        if not word:
            raise line.error(Errors.DS143)
        sentence.words.append(word)
        if columns.tag is not None:
            sentence.tags.append(_or_nothing(_get(line, fields, columns.tag)))
        if columns.entity is not None:
            tag = _get(line, fields, columns.entity)
            if tag not in ("O", "", "-", EMPTY) and not ENTITY.fullmatch(tag):
                raise line.error(Errors.DS149, tag=tag)
            ents.append(tag)
    sentence.ents = to_iob2(ents)


def _get(line: Line, fields: list[str], column: int) -> str:
    if not 1 <= abs(column) <= len(fields):
        raise line.error(Errors.DS148, n=len(fields), column=column)
    return fields[column - 1 if column > 0 else column]


def to_iob2(tags: Iterable[str]) -> list[str]:
    """Entity tags in IOB2, from those in IOB1, IOB2, BILOU or BIOES. What begins nowhere
    begins where it is first seen; what is unknown is an empty string."""
    result = []
    open_label = None
    for tag in tags:
        kind, label = tag[:1], tag[2:]
        if not label:
            result.append("O" if tag == "O" else "")
            open_label = None
            continue
        begins = kind in "BUS" or label != open_label
        result.append(f"{'B' if begins else 'I'}-{label}")
        open_label = None if kind in "ULES" else label
    return result
