from .detection import (
    guess_language as guess_language,
    likely_languages as likely_languages,
    spoken_language as spoken_language,
)
from .forms import form_wished as form_wished
from .relations import Relation as Relation, relation_of as relation_of, same_value as same_value
from .tables import (
    SPACELESS as SPACELESS,
    chat_words as chat_words,
    every_language as every_language,
    function_pairs as function_pairs,
    languages as languages,
    raw_table as raw_table,
    stop_words as stop_words,
    table_of_all as table_of_all,
    words as words,
)
