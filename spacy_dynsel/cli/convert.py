"""Corpora in other formats as DocBins."""

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path

from spacy.cli._util import Arg, Opt
from spacy.tokens import Doc
from spacy.vocab import Vocab
from wasabi import msg

from ..base.errors import Errors
from ..corpus.conll import (
    Columns,
    Level,
    Sentence,
    make_docs,
    read_columns,
    read_conllu,
)
from ..corpus.subtokens import divides_by, find_undivided, join_subtokens
from ._data import make_language, make_vocab, read_docs, write_docs
from .group import dynsel_cli

# How many of the sentences that were left out to name.
N_NAMED = 5
# From which share of words on to tell of those that the tokenizer leaves whole.
FEW_WORDS = 0.01


class Format(str, Enum):
    CONLLU = "conllu"
    COLUMNS = "columns"
    DOCBIN = "docbin"


SUFFIXES = {
    ".conllu": Format.CONLLU,
    ".spacy": Format.DOCBIN,
    **dict.fromkeys(
        (".conll", ".iob", ".iob2", ".bio", ".bilou", ".bioes", ".tsv", ".txt"),
        Format.COLUMNS,
    ),
}
SEPARATORS = {"auto": None, "tab": "\t", "space": " ", "comma": ","}


@dynsel_cli.command("convert")
def convert_cli(
    input_path: Path = Arg(..., help="File, or folder of DocBins", exists=True),
    output_path: Path = Arg(..., help="DocBin to write (.spacy), or a folder for it"),
    format: Format | None = Opt(
        None, "--format", "-f", help="Format, if the suffix does not tell"
    ),
    documents: bool = Opt(False, "--documents", "-d", help="One Doc for each document"),
    paragraphs: bool = Opt(False, "--paragraphs", help="One Doc for each paragraph"),
    lang: str = Opt("xx", "--lang", "-l", help="Language code"),
    tag_column: str | None = Opt(
        None, "--tag-column", "-t", help="xpos or upos; for columns, a number"
    ),
    word_column: int = Opt(
        1, "--word-column", "-w", help="For columns: column of the words"
    ),
    entity_column: int = Opt(
        -1,
        "--entity-column",
        "-e",
        help="For columns: column of the entity tags, 0 for none",
    ),
    separator: str = Opt(
        "auto",
        "--separator",
        "-s",
        help="For columns: auto, tab, space, comma, or a text",
    ),
    document_mark: str = Opt(
        "-DOCSTART-",
        "--document-mark",
        help="For columns: start of a line between documents",
    ),
    empty_word: str | None = Opt(
        None, "--empty-word", help="For columns: what to write for empty words"
    ),
    skip_bad: bool = Opt(False, "--skip-bad", help="Leave out malformed sentences"),
    merge_subtokens: bool = Opt(
        False,
        "--merge-subtokens",
        "-T",
        help="For CoNLL-U: join the parts of words that the tokenizer leaves whole",
    ),
) -> None:
    """
    Convert a corpus to a DocBin. The corpus may be CoNLL-U, a file of columns with
    entities in IOB, IOB2, BILOU or BIOES, a DocBin, or a folder of DocBins. Each sentence
    becomes a Doc, unless you give --documents or --paragraphs. Columns count from 1;
    negative numbers count from the end.
    """
    if documents and paragraphs:
        raise ValueError(Errors.DS155)
    level: Level = "sentence"
    if documents or paragraphs:
        level = "document" if documents else "paragraph"
    columns = Columns(
        word=word_column,
        entity=entity_column or None,
        separator=SEPARATORS.get(separator, separator) or None,
        document_mark=document_mark,
        empty_word=empty_word,
    )
    convert(
        input_path,
        output_path,
        format=format,
        level=level,
        lang=lang,
        tag_column=tag_column,
        columns=columns,
        skip_bad=skip_bad,
        merge_subtokens=merge_subtokens,
    )


def convert(
    input_path: Path,
    output_path: Path,
    *,
    format: Format | None = None,
    level: Level = "sentence",
    lang: str = "xx",
    tag_column: str | None = None,
    columns: Columns | None = None,
    skip_bad: bool = False,
    merge_subtokens: bool = False,
) -> Path:
    """Convert a corpus to a DocBin.

    input_path (Path): The corpus: a file, or a folder of DocBins.
    output_path (Path): Where to write the DocBin: a path that ends in .spacy, or a
        folder, which is made if need be.
    format (Format): Its format; None to go by its suffix.
    level (Level): What becomes a Doc: "sentence", "paragraph" or "document".
    lang (str): The code of the language.
    tag_column (str): The tags to read: "xpos" or "upos", or the number of a column.
    columns (Columns): Where things stand in a file of columns.
    skip_bad (bool): Whether to leave out sentences with malformed lines.
    merge_subtokens (bool): Whether to join the parts of words that the tokenizer of the
        language leaves whole, such as Portuguese "da", "de" and "a" in treebanks.
    RETURNS (Path): The DocBin.
    """
    vocab = make_vocab(lang)
    skipped: list[str] | None = [] if skip_bad else None
    if format is None and input_path.is_dir():
        format = Format.DOCBIN
    format = format or SUFFIXES.get(input_path.suffix.lower())
    if format is None:
        known = ", ".join(SUFFIXES)
        raise ValueError(Errors.DS150.format(path=input_path, known=known))
    if format == Format.COLUMNS:
        columns = replace(columns or Columns(), tag=_parse_number(tag_column))
        sentences = read_columns(input_path, columns, skipped=skipped)
        docs = list(make_docs(vocab, sentences, level))
    else:
        tag_column = tag_column or "xpos"
        if tag_column not in ("xpos", "upos"):
            raise ValueError(Errors.DS151.format(value=tag_column, known="xpos, upos"))
        if format == Format.CONLLU:
            sentences = read_conllu(input_path, tag_column=tag_column, skipped=skipped)
            sentences = _treat_subtokens(sentences, lang, merge=merge_subtokens)
            docs = list(make_docs(vocab, sentences, level))
        else:
            docs = list(_read_docbin(input_path, vocab, level, tag_column))
    if not docs:
        raise ValueError(Errors.DS152.format(path=input_path))
    if output_path.suffix != ".spacy":
        output_path = output_path / f"{input_path.stem}.spacy"
    output_path.parent.mkdir(parents=True, exist_ok=True)
    write_docs(output_path, docs)
    if skipped:
        msg.warn(f"{len(skipped)} malformed sentences left out")
        for problem in skipped[:N_NAMED]:
            msg.text(problem)
    if not any(doc.has_annotation(name) for doc in docs for name in ("TAG", "ENT_IOB")):
        msg.warn("Neither tags nor entities were found: are the columns as you think?")
    n_tokens = sum(map(len, docs))
    msg.good(f"{len(docs)} docs, {n_tokens} tokens: {output_path}")
    return output_path


def _treat_subtokens(
    sentences: list[Sentence], lang: str, *, merge: bool
) -> list[Sentence]:
    """Join the parts of words that the tokenizer leaves whole, or tell of them if there
    are many: what learns from the parts meets the words."""
    if not any(sentence.ranges for sentence in sentences):
        return sentences
    divides = divides_by(make_language(lang).tokenizer)
    if merge:
        return list(join_subtokens(sentences, divides))
    undivided = [
        (one.form, sentence.words[one.start : one.end])
        for sentence in sentences
        for one in find_undivided(sentence, divides)
    ]
    n_words = sum(len(sentence.words) for sentence in sentences)
    if len(undivided) > FEW_WORDS * n_words:
        form, parts = undivided[0]
        msg.warn(
            f"{len(undivided)} words have parts that are words in the treebank, but not "
            f"for the tokenizer of '{lang}', such as '{form}' ({' + '.join(parts)}). For "
            "pipelines that read plain text, join them: --merge-subtokens"
        )
    return sentences


def _parse_number(tag_column: str | None) -> int | None:
    if tag_column is None:
        return None
    try:
        return int(tag_column)
    except ValueError:
        raise ValueError(
            Errors.DS151.format(value=tag_column, known="the number of a column")
        ) from None


def _read_docbin(
    path: Path, vocab: Vocab, level: Level, tag_column: str
) -> Iterator[Doc]:
    if level == "paragraph":
        raise ValueError(Errors.DS156.format(path=path))
    for doc in read_docs(path, vocab):
        if tag_column == "upos":
            for token in doc:
                token.tag_ = token.pos_
        if level == "sentence" and doc.has_annotation("SENT_START"):
            yield from (sent.as_doc(copy_user_data=True) for sent in doc.sents)
        else:
            yield doc
