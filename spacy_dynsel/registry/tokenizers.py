"""Registered tokenizers."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.util import (
    compile_infix_regex,
    compile_prefix_regex,
    compile_suffix_regex,
)

from ..base.errors import Errors
from ..tokenizer.cached import DEFAULT_CACHE_SIZE, CachedTokenizer

# What a language has whose words are found by rules.
RULE_TOKENIZER = "spacy.Tokenizer.v1"


def make_cached_tokenizer(
    max_cache_size: int = DEFAULT_CACHE_SIZE,
    replace_segmenter: bool = False,
) -> Callable[[Language], CachedTokenizer]:
    """spaCy's tokenizer with the rules of the language, and with a cache for all that
    it does.

    max_cache_size (int): How many chunks of text to keep at most.
    replace_segmenter (bool): Whether to go by rules and spaces also where the language
        has a tokenizer of another kind, as Chinese and Japanese have.
    """

    def make_tokenizer(nlp: Language) -> CachedTokenizer:
        own = type(nlp).default_config["nlp"]["tokenizer"]["@tokenizers"]
        if own != RULE_TOKENIZER and not replace_segmenter:
            raise ValueError(Errors.DS221.format(lang=nlp.lang, own=own))
        defaults: Any = nlp.Defaults
        prefixes, suffixes, infixes = (
            defaults.prefixes,
            defaults.suffixes,
            defaults.infixes,
        )
        return CachedTokenizer(
            nlp.vocab,
            rules=defaults.tokenizer_exceptions,
            prefix_search=compile_prefix_regex(prefixes).search if prefixes else None,
            suffix_search=compile_suffix_regex(suffixes).search if suffixes else None,
            infix_finditer=compile_infix_regex(infixes).finditer if infixes else None,
            token_match=defaults.token_match,
            url_match=defaults.url_match,
            max_cache_size=max_cache_size,
        )

    return make_tokenizer
