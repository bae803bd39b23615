"""All messages that have codes."""

from .corpus_errors import CorpusErrors
from .errors import Errors
from .service_errors import ServiceErrors
from .warnings import Warnings

CATALOGUES = (Errors, CorpusErrors, ServiceErrors, Warnings)
