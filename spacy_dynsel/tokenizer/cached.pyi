from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.vocab import Vocab

DEFAULT_CACHE_SIZE: int

class CachedTokenizer(Tokenizer):
    def __init__(
        self,
        vocab: Vocab,
        rules: dict[str, Iterable[dict[Any, Any]]] | None = None,
        prefix_search: Callable[[str], Any] | None = None,
        suffix_search: Callable[[str], Any] | None = None,
        infix_finditer: Callable[[str], Iterator[Any]] | None = None,
        token_match: Callable[[str], Any] | None = None,
        url_match: Callable[[str], Any] | None = None,
        faster_heuristics: bool = True,
        max_cache_size: int = ...,
    ) -> None: ...
    @classmethod
    def from_tokenizer(
        cls, tokenizer: Any, max_cache_size: int = ...
    ) -> CachedTokenizer: ...
    @property
    def n_cached(self) -> int: ...
    def __call__(self, string: str) -> Doc: ...
    def memory_zone(self, mem: Any = None) -> AbstractContextManager[Any]: ...
