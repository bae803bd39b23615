"""All messages that have codes."""

from .corpus_errors import CorpusErrors
from .errors import Errors
from .service_errors import ServiceErrors
from .system_errors import SystemErrors
from .warnings import Warnings

CATALOGUES = (Errors, CorpusErrors, ServiceErrors, SystemErrors, Warnings)
