"""The errors of what is built on trained pipelines: servers, students, other labels. In
the order of their codes, after those of errors.py."""

from .errors import ErrorsWithCodes


class ServiceErrors(metaclass=ErrorsWithCodes):
    # Names of labels
    DS330 = (
        "Component '{name}' can't rename '{old}' to '{new}': a label must not be empty. "
        "Give a name, or leave the label out of the map."
    )
    # The server
    DS331 = (
        "Can't listen on {host}, port {port}: {reason}. Name another by --port, or stop the "
        "program that uses it."
    )
    DS332 = "'{name}' is {value!r}. Give {what}."
    DS333 = (
        "{n} requests wait already. Try again later, or serve with a longer --queue."
    )
    DS334 = "The server is shutting down. Ask again when it is back."
    DS335 = "The request is longer than {most} {unit}. Divide it into several."
    DS336 = "The request can't be read: {reason}. Send JSON with 'text' or 'texts'."
    DS337 = (
        "The server needs packages that are missing: pip install 'spacy-dynsel[serve]'."
    )
    # Students
    DS340 = (
        "There is nothing to learn: the teacher, with the components {names}, sets neither "
        "tags nor parts of speech, trees or entities. Give a pipeline that does."
    )
    DS341 = (
        "The raw text has {n} lines that are not empty, and at least 2 are needed: one to "
        "learn from and one to compare on. Give more text, a paragraph a line."
    )
    DS342 = (
        "'{path}' holds what another teacher, text or setting gave, or is damaged. Name "
        "another --output, or remove that folder."
    )
