"""Code that pipelines of corpora import: texts that raise or kill, and Docs and pipelines
that must not be pickled."""

import copyreg
import os
import signal
import sys
import time
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

CODE = Path(__file__)
RAISES = "POISON"
KILLS = "KILLER"
SLOW = "SLOWLY"


def refuse(thing, *args):
    raise RuntimeError(f"{type(thing).__name__} is pickled")


# In workers. Tests do it for themselves, and undo it.
if "pytest" not in sys.modules:
    copyreg.pickle(Doc, refuse)
    Language.__reduce_ex__ = refuse


@Language.component("dangerous")
def dangerous(doc):
    if RAISES in doc.text:
        raise RuntimeError("This text is poison")
    if KILLS in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)
    if SLOW in doc.text:
        time.sleep(0.02)
    return doc
