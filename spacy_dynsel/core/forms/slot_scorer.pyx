"""What the compiled forms of classifiers over slots have in common."""
from ...base.errors import Errors


cdef class SlotScorer:
    """Weights of a classifier over slots: each feature has a code of 32 bits, which the
    subclasses read.

    program (Program): The templates.
    n_labels (int): The number of labels.
    arrays (dict): The weights, see pack.
    scale (float): The integer that stands for a weight of 1.
    """

    # The names of the arrays.
    parts = ("keys", "codes")

    def __init__(
        self, Program program not None, int n_labels, dict arrays not None, float scale
    ):
        if self.program is not None or n_labels < 0:
            raise ValueError(Errors.DS216.format(what="the labels of a scorer"))
        self.check(arrays, n_labels)
        self._codes = LineTable(arrays["keys"], arrays["codes"])
        self.program = program
        self.n_labels = n_labels
        self.scale = scale

    @staticmethod
    def pack(keys, labels, weights, int n_labels) -> dict:
        """Bring integer weights into the form of a file: for each feature, in order, its
        key and its code, and what else its code refers to.

        keys (array), labels (array), weights (array): Sorted by key and label.
        n_labels (int): The number of labels.
        """
        raise NotImplementedError

    @staticmethod
    def check(arrays, int n_labels) -> None:
        """Raise an error unless arrays from a file can be read without harm."""
        raise NotImplementedError

    def arrays(self) -> dict:
        """The weights in the form of a file, see pack."""
        if self._codes is None:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        return dict(zip(("keys", "codes"), self._codes.to_arrays(), strict=True))

    def unpack(self) -> tuple:
        """The inverse of pack: arrays of keys, labels and weights."""
        raise NotImplementedError

    def sum(self, keys, int kind) -> list:
        """The sums of the weights of some features, by the kernels of a kind, see
        kernel_names."""
        raise NotImplementedError
