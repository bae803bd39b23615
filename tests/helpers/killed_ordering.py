"""Order templates with a journal, for a test that kills this while it works."""

import sys
from pathlib import Path

from helpers.ordering_data import make_known
from spacy_dynsel.ordering.journal import Journal
from spacy_dynsel.ordering.methods import make_lasso, make_wrapper

methods = {"wrapper": make_wrapper(), "lasso": make_lasso(weights="one")}
decisions = make_known(noise=True, n=20_000)
print("ready", flush=True)
journal = Journal(Path(sys.argv[2]), "test")
for one in methods[sys.argv[1]](decisions, 5, journal):
    print(one.template)
