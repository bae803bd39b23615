"""Errors about corpora that are annotated, in the order of their codes. The others stand
in errors.py."""

from .errors import ErrorsWithCodes


class CorpusErrors(metaclass=ErrorsWithCodes):
    DS310 = (
        'Tables need the package pyarrow. Install it by "pip install '
        "'spacy-dynsel[corpus]'\"."
    )
    DS311 = "There is no column '{name}' to annotate. Choose from: {known}."
    DS312 = (
        "{where} has no column '{name}'. Name the column of the {what} by {option}; "
        "there is: {known}."
    )
    DS313 = (
        "The column '{name}' of {where} has the type {found}, and the {what} must be "
        "{wanted}. Convert it, or name another column by {option}."
    )
    DS314 = "The row has no text."
    DS315 = (
        "The text has {n} characters, and {most} are the most. Divide it, or raise "
        "max_length."
    )
    DS316 = (
        "The process died twice over this text, which was set aside. Please report it, "
        "if the components are those of spacy-dynsel."
    )
    DS317 = (
        "{where} has the id '{id}' twice (row {row}). Make ids unique, or let rows be "
        "numbered: id_column = null, or --id-column ''."
    )
    DS318 = (
        "Docs can't be made without texts. Keep them in the table (keep = ['text'], or "
        "--keep text), or give the texts in the order of the rows."
    )
    DS319 = "The table has no column '{name}', and Docs can't be made without it."
    DS320 = (
        "'{path}' is not among what can be read, by its suffix. Give files, or folders "
        "of files, that end in: {known}."
    )
    DS321 = "There is nothing to read in {paths}. Give files that end in: {known}."
    DS322 = (
        "'{path}' can't be read ({reason}). If it is half-written or damaged, write it "
        "anew; then run again: what is finished is kept."
    )
    DS323 = (
        "Line {line} is not a JSON object in UTF-8 with a text in '{name}': {reason}."
    )
    DS324 = (
        "'{path}' holds the output of something else: {what}. Give another folder, or "
        "empty this one."
    )
    DS325 = (
        "Can't write to '{path}': {reason}. Mend that, then run again: what is "
        "finished is kept."
    )
    DS326 = (
        "Two inputs would have the same name in the output, '{name}': {first} and "
        "{second}. Give the folder that holds both, or annotate them one by one."
    )
    DS327 = (
        "{n_failed} of {n} parts were not annotated; the others are finished and stay. "
        "Mend what follows, then run again:\n{reasons}."
    )
    DS328 = (
        "Processes died {n} times over '{name}'; the last one ended with {status}. Look "
        "at the memory of the machine, or give smaller batches by --max-chars."
    )
    DS329 = "Give {wanted}, and not {found}."
