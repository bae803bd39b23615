"""Options that several commands have."""

from spacy.cli._util import Opt

# What is not an option of the command overrides the config.
WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
NAME = Opt(None, "--name", "-n", help="Name of the component in the config")
PART = Opt(None, "--part", "-p", help="Templates of a parser: actions or labels")
HELD_OUT = Opt(None, "--held-out", help="Held-out data: DocBin or folder", exists=True)
SHARE = Opt(0.1, "--share", help="Share of the training data to hold out")
LIMIT = Opt(0, "--limit", "-l", min=0, help="Number of docs to use, 0 for all")
CODE = Opt(None, "--code", "-c", help="Python file to import first")
