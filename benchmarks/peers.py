"""The peers that need packages of their own: None where these are missing."""

try:
    from crf import CrfTagger
except ImportError:
    CrfTagger = None  # type: ignore[assignment, misc]

try:
    from perceptron import PerceptronTagger
except ImportError:
    PerceptronTagger = None  # type: ignore[assignment, misc]

try:
    from udpipe import UdpipeTagger
except ImportError:
    UdpipeTagger = None  # type: ignore[assignment, misc]

__all__ = ["CrfTagger", "PerceptronTagger", "UdpipeTagger"]
