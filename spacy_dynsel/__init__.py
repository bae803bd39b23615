from importlib.util import find_spec

from .about import __version__

if find_spec(f"{__name__}.spacy_io.layout") is None:
    from .base.errors import Errors

    raise ImportError(Errors.DS060.format(path=__file__))

__all__ = ["__version__"]
