"""Stop words by language, and a cheap guess which language a short text is in.

The guess only chooses a stemmer and a stop list, so it may be wrong at no great cost: it must be the same
for a bullet and for the questions about it. English is the default and wins every tie.

Does not: identify languages beyond the ones that it has a stop list for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

__all__ = ["DEFAULT_LANGUAGE", "STOP_WORDS", "guess_language", "script_language"]

DEFAULT_LANGUAGE = "english"

_ENGLISH = """
a about again all also always am an and any anybody anyone anything are around as ask asked at be because
been being but by came can cannot come could did do does doing done each either else ever every explain
for from get gets getting give given gives go goes going got had has have having he hello help her here hers
hey hi him his how i if in into is it its itself just keep keeps kindly know let like lot make makes many
may maybe me means might mine more most much must my myself need needs no nor not now of off ok okay on
once one only onto or other ought our ours out over own per please quite rather really same say says shall
she should show so some somebody someone something still stuck such sure tell than thank thanks that the
their theirs them then there these they thing things this those though through thus to today tomorrow tonight
too try trying under
understand until unto up upon us very want wants was way we well were what whatever when whenever where
whether which while who whoever whole whom whose why will wish with within would yes yet you your yours
yourself actually already anyway basically guess guessed probably said sorry somehow stuff suppose
think thinks thought told wanted wonder wondering yesterday
"""

_GERMAN = """
aber alle als am an auch auf aus bei bin bis bist bitte da damit dann das dass dein dem den denn der des
dich die dies diese dieser dieses dir doch dort du durch ein eine einem einen einer eines er erkläre es
euch für ganz gibt habe haben hat hatte hier hilf ich ihm ihn ihr im immer in ist ja jede jeder jetzt kann
kannst können man mein mich mir mit muss nach nicht noch nur ob oder ohne schon sehr sein seine sich sie
sind so soll sollte über um und uns unser unter vom von vor wann war warum was weil welche welcher welches
wenn wer werden wie wieder wieso wieviel wir wird wo worden wurde zeig zu zum zur zwischen
bisschen brauche brauchen braucht danke eigentlich etwas gern gerne gestern hallo heute mache machen macht
meint meistens möchte morgen sagt trotzdem wofür woher wohin würde
"""

_FRENCH = """
ai alors après au aussi aux avec avez bien bonjour car ce cela ces cet cette chez comme comment combien
dans de des donc dont du elle elles en encore entre es est et été être eu explique fait faut font ici il
ils je jusque la le les leur leurs lui ma mais me même mes moi mon ne nos notre nous on ont ou où par parce
pas peu peut peux plus pour pourquoi puis quand que quel quelle quelles quels qui quoi sa sans se ses si
son sont sous suis sur ta te tes toi ton tous tout toute très tu un une vers vos votre vous
depuis dit dois doit déjà faudrait pourrait pourrais quelque quelques toujours trop veux voudrais
"""

_SPANISH = """
al algo ante antes aquí así aunque bien cada como cómo con cual cuál cuáles cuando cuándo cuánto cuántos de
del desde donde dónde dos el él ella ellas ellos en entre era eres es esa ese eso esta está están este esto
estos explica fue ha hace hacia han hasta hay hola la las le les lo los más me mi mí mis mucho muy nada ni
no nos nosotros o os otra otro para pero por porque puede puedes pues que qué quién se sea ser si sí sin
sobre son su sus también te tener tengo ti tiene todo tu tú tus un una uno unos usted y ya yo
ahora creo debe debería debo siempre todavía
"""

_ITALIAN = """
ai al alla alle anche ancora avere che chi ci ciao come con cosa così cui da dal dalla dei del della delle
di dove e è ed era essere fa gli ha hai hanno ho i il in io la le lei lo loro lui ma me mi mia mio molto
nel nella no noi non nostra nostro o ogni per perché più può puoi quale quali quando quanti quanto quella
quello questa queste questi questo qui se sei si sì sia solo sono sta su sua sul sulla suo ti tra tu tua
tuo tutti tutto un una uno vi voi
"""

_PORTUGUESE = """
ao aos aquela aquele aqui as até com como da das de dela dele depois do dos e é ela elas ele eles em entre
era essa esse esta está este eu foi há isso isto já lhe mais mas me mesmo meu meus minha muito na não nas
nem no nos nós num numa o olá onde os ou para pela pelo pode por porque porquê pra quais qual quando quanto
quantos que quê quem são se seja sem ser seu seus só sua suas também te tem tenho ter teu tu tudo um uma
você vocês
"""

_DUTCH = """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen
had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je jij jouw kan kun kunnen
leg maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook op over te tegen
toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welke wie wij wil worden
wordt zal ze zelf zich zij zijn zo zonder
"""

_SWEDISH = """
alla allt än är att av blev bli blir då dem den denna deras dess det detta dig din ditt du där efter eller
en er ett för från ha hade han hans har hej hennes hon hur här i icke in inte jag ju kan kunna man med mellan
men mig min mitt mot mycket när någon något några nu och om oss på sedan sig sin sitt ska som så till under
upp ut utan vad var varför vara vem vi vid vilka vilken vilket
"""

_RUSSIAN = """
а без бы был была были было быть в вам вас весь во вот все всё вы где да даже для до его ее её ей ему если
есть еще ещё же за здесь и из или им их к как какая какие какой когда кто ли лучше между меня мне много
можно мой мы на над надо нам нас не него нее нет ни них но о об объясни один он она они оно от очень по под
пожалуйста помоги почему при про раз с сам свой себя сейчас сколько со так также там те тебя тем то тогда
того тоже только тот ты у уже чего чем что чтобы эта эти это этот я
"""

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": frozenset(_ENGLISH.split()),
        "german": frozenset(_GERMAN.split()),
        "french": frozenset(_FRENCH.split()),
        "spanish": frozenset(_SPANISH.split()),
        "italian": frozenset(_ITALIAN.split()),
        "portuguese": frozenset(_PORTUGUESE.split()),
        "dutch": frozenset(_DUTCH.split()),
        "swedish": frozenset(_SWEDISH.split()),
        "russian": frozenset(_RUSSIAN.split()),
    }
)
"""Words that carry no content, the question words and the wording of a request among them.

"Explain", "show", "help" or "keep" say that somebody asks, never what about.
"""

_SCRIPTS = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)


def script_language(char: str) -> str | None:
    """Return the stemmer's language that the script of a letter settles, None for Latin and the rest."""
    code = ord(char)
    if code < _SCRIPTS[0][0]:
        return None
    return next((language for low, high, language in _SCRIPTS if low <= code <= high), None)


def guess_language(words: Iterable[str]) -> str:
    """Return the language whose stop words occur most often among these case-folded words.

    English wins ties and is what a text without a single stop word gets.
    """
    languages = _languages_by_word()
    hits = dict.fromkeys(STOP_WORDS, 0)
    for word in words:
        for language in languages.get(word, ()):
            hits[language] += 1
    return max(hits, key=hits.__getitem__)  # the first of equals, and English comes first


@lru_cache(maxsize=1)
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for language, words in STOP_WORDS.items():
        for word in words:
            table[word] = (*table.get(word, ()), language)
    return MappingProxyType(table)
