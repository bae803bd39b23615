"""Options that several commands have."""

from spacy.cli._util import Opt

# What is not an option of the command overrides the config.
WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
NAME = Opt(None, "--name", "-n", help="The component in the config")
PART = Opt(None, "--part", "-p", help="Of a parser: actions, labels")
HELD_OUT = Opt(None, "--held-out", help="DocBin or folder to choose by", exists=True)
SHARE = Opt(0.1, "--share", help="Held-out share of the training data")
LIMIT = Opt(0, "--limit", "-l", min=0, help="How many docs to use, 0 for all")
CODE = Opt(None, "--code", "-c", help="Python file with code")
