from .index import (
    Index as Index,
    MAX_DIFFERENCE as MAX_DIFFERENCE,
    PrefixFilter as PrefixFilter,
    idf as idf,
    in_order as in_order,
    topic_term as topic_term,
)
from .source_words import (
    MAX_SOURCE_WORDS as MAX_SOURCE_WORDS,
    MAX_WORD_CHARS as MAX_WORD_CHARS,
    kept_words as kept_words,
    words_besides as words_besides,
)
from .tokenize import (
    chat_terms as chat_terms,
    content_words as content_words,
    estimate_tokens as estimate_tokens,
    fold as fold,
    language_of as language_of,
    normal_form as normal_form,
    terms as terms,
    tokens as tokens,
)
from .word_list import has_list as has_list, is_word as is_word
