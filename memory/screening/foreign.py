"""Which texts give orders to the agent in German, French, Spanish, Chinese or Russian; the plainest"
" in others.

The orders known here: to set its instructions aside, to be somebody else, to show its prompt, to keep a note
from people, to advertise in every answer, to delete its memories, to obey one person. As in English the
structure decides: an imperative that is neither negated nor part of a condition, and rules that are the
agent's ("deine", "précédentes", "所有"), not the rule for commas.

Does not: cover tools and authorities, or other languages beyond the first order. docs/security.md says so.
"""

from __future__ import annotations

from ace_graph.memory.screening.rules import Rule, first, rule

__all__ = ["foreign_order_in"]

_ASIDE = "in another language, to set its instructions aside"
_ROLE = "in another language, about its role"
_PROMPT = "in another language, about its prompt"
_SILENCE = "in another language, to keep something from people"
_ALWAYS = "in another language, for every answer"
_MEMORY = "in another language, about its other memories"
_OBEY = "in another language, to obey somebody"
_GAP = r"[^.!?]{0,40}?"
_SHORT = r"[^.!?,;]{0,25}?"

_GERMAN_RULES = (
    r"(?:anweisung\w{0,3}|vorgaben?|regeln?|befehle?|instruktion\w{0,2}|richtlinien?|system-?prompts?"
    r"|vorschriften|einschränkungen)"
)
_GERMAN_OWN = (
    r"(?:alle[rns]?|sämtliche|jede|jegliche|deine[rmn]?|eure|ihre|vorherige[nrm]?|bisherige[nr]?|frühere[nr]?"
    r"|obige[nr]?|vorige[nr]?|vorangegangene[nr]?|ursprüngliche[nr]?|system\w{0,10})"
)

_GERMAN: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "anweisung vorgabe regel befehl instruktion richtlinie prompt vorschrift einschränkung",
        r"\b(?:(?:ignorier|missacht|verwirf|umgeh|übergeh)e?|vergiss|(?:ignorieren|missachten|vergessen) sie)"
        rf" (?!nicht |nie |niemals ){_SHORT}\b{_GERMAN_OWN}\b{_SHORT}\b{_GERMAN_RULES}\b(?! nicht\b)",
        unless_before=r"\b(?:nie|niemals|nicht) ",
    ),
    rule(
        _ASIDE,
        "anweisung vorgabe regel instruktion",
        rf"\b(?:befolge|beachte|folge)\b{_SHORT}\b(?:nicht|keine[rn]?)\b{_SHORT}\b{_GERMAN_OWN}\b{_SHORT}"
        rf"\b{_GERMAN_RULES}\b|\b(?:vorherigen?|bisherigen?|deine) {_GERMAN_RULES} (?:gelten nicht"
        rf"|sind ungültig)",
    ),
    rule(
        _ROLE,
        "bist sind",
        r"\b(?:du bist|sie sind) (?:ab )?(?:jetzt|nun|sofort|künftig|nicht mehr|nicht länger|von nun an)"
        r" (?:eine?|der|die|das|mein|kein|ohne|frei|root|admin\w{0,12}|unzensiert\w{0,2})\b"
        r"(?! (?:bisschen|wenig|stück|schritt|paar))",
    ),
    rule(
        _PROMPT,
        "prompt anweisung",
        r"\b(?:verrat|zeig|nenn|gib|druck|wiederhol|offenbar|enthüll)e?\b"
        rf"{_GAP}\b(?:system-?prompts?|systemanweisung\w{{0,2}}|versteckten? anweisung\w{{0,2}}"
        r"|deine[nr]? (?:\w{1,20} )?(?:prompts?|anweisung\w{0,2}|vorgaben))",
        unless_before=r"\b(?:nie|niemals|nicht) ",
    ),
    rule(
        _SILENCE,
        "diese davon hiervon",
        r"\b(?:sag|erzähl|verrat|zeig|teil|erwähn)e?\b"
        rf"{_GAP}\b(?:nichts?|nie|niemals|niemand\w{{0,2}})\b{_GAP}\b(?:diese[rmns]? (?:notiz|regel|anweisung"
        r"|nachricht|hinweis|eintrag)|davon\b|hiervon\b)",
    ),
    rule(
        _ALWAYS,
        "jede allen",
        rf"\b(?:in|am ende|zu) (?:jede[rnm]?|allen) {_SHORT}(?:antwort|nachricht)\w{{0,2}}\b{_GAP}\b(?:werb"
        r"|laden\b|shop|geschäft|produkt|link|kauf|marke|firma|mein)"
        rf"|\b(?:werb|bewirb|erwähn|empfiehl|empfehl)\w{{0,5}}\b{_GAP}\b(?:in|am ende) (?:jede[rnm]?|allen) "
        rf"{_SHORT}(?:antwort|nachricht)\w{{0,2}}\b{_GAP}\b(?:mein|laden|shop|produkt|marke|firma|casino)",
    ),
    rule(
        _MEMORY,
        "gedächtnis erinnerung playbook notiz einträg",
        r"\b(?:lösch|entfern|vergiss|verwirf)e?\b"
        rf"{_SHORT}\b(?:alle[nr]?|sämtliche|deine?[nr]?|andere[nr]?|übrige[nr]?)\b{_GAP}"
        r"\b(?:gedächtnis|erinnerungen|playbook|deine[nr]? (?:notizen|einträge))",
    ),
    rule(
        _OBEY, "gehorch", r"\bgehorche? (?:nur |allein |stets )?(?:mir|ihm|ihr|dieser|diesem|dem nächsten)\b"
    ),
)

_FRENCH_RULES = r"(?:instructions?|consignes?|règles?|directives?|ordres)"
_FRENCH_LATER = r"(?:précédent|antérieur|ci-dessus|du système|initiale|d'avant\b|de sécurité)"

_FRENCH: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "instruction consigne règle directive ordre",
        r"\b(?:ignore[rz]?|oublie[rz]?|néglige[rz]?|contourne[rz]?)\b (?!pas |jamais |rien )"
        rf"(?:(?!dans|pour|sur|avant|en |de )[\w']{{1,15}} ){{0,3}}?(?:(?:toutes? |tous )?(?:tes"
        rf"|vos)|toutes?(?: les| ces)?) "
        rf"(?:\w{{1,15}} ){{0,2}}?{_FRENCH_RULES}\b"
        r"|\b(?:ignore[rz]?|oublie[rz]?|néglige[rz]?|contourne[rz]?)\b (?!pas |jamais |rien )"
        rf"(?:\w{{1,15}} ){{0,3}}?{_FRENCH_RULES} (?:\w{{1,15}} ){{0,2}}?{_FRENCH_LATER}",
        unless_before=r"\b(?:n['’]|ne |on |il |elle |qui |instruction \w{1,20} |jamais |si tu |si vous |je )",
    ),
    rule(
        _ROLE,
        "es etes",
        r"\b(?:tu (?:es|n'es)|vous (?:êtes|n'êtes)) (?:maintenant|désormais|dorénavant|plus|à présent)"
        r" (?:une?|le|la|l'|mon|ma|libre|sans|root|admin\w{0,12})\b(?! (?:peu|pas|étape))",
    ),
    rule(
        _PROMPT,
        "prompt instruction consigne",
        r"\b(?:révèle|montre|affiche|répète|donne|imprime|divulgue|dévoile)[rz]?\b"
        rf"{_GAP}\b(?:prompt|instructions? (?:cachée|système|secrète)|(?:tes|vos) (?:\w{{1,15}} )?"
        r"(?:instructions|consignes|règles))",
        unless_before=r"\b(?:n['’]|ne |jamais )",
    ),
    rule(
        _SILENCE,
        "cette ceci message",
        r"\bne (?:(?:le|la|lui|leur) )?(?:di[st]|dites|révèle|montre|parle|mentionne|dévoile)[rzs]?\b"
        rf"{_GAP}\b(?:pas|jamais|rien)\b{_GAP}\b(?:cette (?:note|règle|consigne|instruction)"
        rf"|ce message|ceci\b)",
    ),
    rule(
        _ALWAYS,
        "chaque toute réponse",
        rf"\b(?:dans|à la fin de) (?:chaque|toutes les|toute) réponses?\b{_GAP}\b(?:publicité|boutique"
        r"|magasin|produit|lien\b|achete|marque|mon |ma )"
        rf"|\b(?:publicité|boutique|magasin|produit|marque|casino)\w{{0,2}}\b{_GAP}\b(?:dans|à la fin de)"
        r" (?:chaque|toutes les|toute) réponse",
    ),
    rule(
        _MEMORY,
        "mémoire souvenir playbook",
        r"\b(?:supprime|efface|oublie|vide)[rz]?\b"
        rf"{_GAP}\b(?:(?:ta|votre|tes|vos) (?:\w{{1,15}} )?(?:mémoires?|souvenirs)|autres souvenirs"
        rf"|playbook)",
        unless_before=r"\b(?:n['’]|ne )",
    ),
    rule(
        _OBEY, "obéi", r"\bobéi(?:s|ssez)[- ](?:moi|lui|leur|uniquement|seulement|à (?:moi|lui|cette|ce))\b"
    ),
)

_SPANISH_RULES = r"(?:instrucciones|reglas|indicaciones|órdenes|directrices|restricciones|normas)"
_SPANISH_LATER = r"(?:anterior|previa|de arriba|del sistema|inicial|de seguridad)"
_SPANISH_IGNORE = (
    r"(?:ignor(?:a|e|en|ad)|olvid(?:a|e|en|ad)|omit(?:e|a|an)|desobede(?:ce|zca)|descart(?:a|e)|salta(?:te)?)"
)

_SPANISH: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "instruccion regla indicacion orden directri restriccion norma",
        rf"\b{_SPANISH_IGNORE}\b (?:(?!en |de |por |para |con )\w{{1,15}} ){{0,3}}?"
        rf"(?:tod[ao]s(?: las| los| tus| sus)?|tus|sus"
        rf"|vuestras) (?:\w{{1,15}} ){{0,2}}?{_SPANISH_RULES}\b"
        rf"|\b{_SPANISH_IGNORE}\b (?:\w{{1,15}} ){{0,3}}?{_SPANISH_RULES} "
        rf"(?:\w{{1,15}} ){{0,2}}?{_SPANISH_LATER}",
        unless_before=r"\b(?:no|nunca|jamás|que|si|él|ella|compilador|se) ",
    ),
    rule(
        _ROLE,
        "eres sos",
        r"\b(?:(?:ahora|ya|desde ahora|a partir de ahora)(?: tú)?(?: no)? eres|eres ahora|ya no eres)"
        r" (?:una?|el|la|mi|libre|sin|root|admin\w{0,12})\b(?! (?:poco|paso))",
    ),
    rule(
        _PROMPT,
        "prompt instruccion regla",
        r"\b(?:revela|muestra|imprime|repite|enseña|di|dime|divulga|copia)(?:r|me|le)?\b"
        rf"{_GAP}\b(?:prompt|instrucciones (?:oculta|del sistema|secreta)|tus (?:\w{{1,15}} )?"
        r"(?:instrucciones|reglas))",
        unless_before=r"\b(?:no|nunca) ",
    ),
    rule(
        _SILENCE,
        "esta este esto",
        r"\b(?:no|nunca) (?:(?:le|les|lo|se) ){0,2}(?:diga|cuente|revele|muestre|mencione)s?\b"
        rf"{_GAP}\b(?:esta (?:nota|regla|instrucción|indicación)|este mensaje|de esto\b)",
    ),
    rule(
        _ALWAYS,
        "cada toda respuesta",
        rf"\b(?:en|al final de) (?:cada|todas las|toda) respuestas?\b{_GAP}\b(?:publicidad|tienda|producto"
        r"|enlace|compra|marca|mi )"
        rf"|\b(?:publicidad|tienda|producto|marca|casino)\w{{0,2}}\b{_GAP}\b(?:en|al final de)"
        r" (?:cada|todas las|toda) respuesta",
    ),
    rule(
        _MEMORY,
        "memoria recuerdo playbook",
        r"\b(?:borra|elimina|olvida|vacía)(?:r|d)?\b"
        rf"{_GAP}\b(?:(?:tu|su|tus|sus) (?:\w{{1,15}} )?(?:memorias?|recuerdos)|(?:otros"
        rf"|demás) recuerdos|playbook)",
        unless_before=r"\b(?:no|nunca) ",
    ),
    rule(
        _OBEY, "obed", r"\b(?:obedéce(?:me|le|los)|obedece (?:solo |únicamente )?(?:a (?:mí|él|este)|esta))\b"
    ),
)

_CHINESE_RULES = r"(?:指令|指示|规则|規則|提示|命令|设定|設定|限制)"
_CHINESE_OWN = r"(?:之前|以前|先前|前面|以上|上面|上述|所有|全部|一切|任何|你的|您的|系统|系統)"
_CHINESE_NOT = r"(?:不要|别|勿|不能|不可|不得|不应|如果|要是|当|若|会|可以).{0,3}"

_CHINESE: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "忽略 无视 忘记 忽視 無視 忘掉 抛弃 遵守 理会 执行",
        r"(?:忽略|无视|忘记|忘記|忽視|忽视|無視|忘掉|抛弃|不要遵守|不要理会|不要执行|别遵守|别理会)"
        rf".{{0,6}}?{_CHINESE_OWN}.{{0,8}}?{_CHINESE_RULES}",
        unless_before=_CHINESE_NOT,
        unless_after=r"(?:的)?(?:时|的话|会|将|就|可能)",
    ),
    rule(
        _ROLE,
        "你",
        r"(?:你(?:现在|現在|从现在起|不再)是|从现在(?:开始|起),?你是)(?!在|最|第|否|不是|对的)",
    ),
    rule(
        _PROMPT,
        "提示 指令 规则 设定",
        r"(?:告诉|显示|输出|透露|泄露|展示|打印|复述|说出|公开|写出|发给).{0,10}"
        r"(?:系统提示|提示词|系统指令|你的(?:指令|规则|设定|提示)|隐藏的?(?:指令|提示))"
        r"|(?:系统提示词?|提示词|系统指令|你的(?:系统)?(?:指令|规则|设定|提示词?)|隐藏的?(?:指令|提示)).{0,8}"
        r"(?:告诉|显示|输出|透露|泄露|展示|打印|复述|说出|公开|写出|发给)",
        unless_before=r"(?:不要|别|不得|勿).{0,6}",
    ),
    rule(
        _SILENCE,
        "告诉 透露 告知 提及 提到 知道",
        r"(?:不要|别|不得|切勿|不能|勿)(?:对\w{1,4})?(?:告诉|透露|告知|提及|提到).{0,10}(?:这条|此条|这个|这|该|此)"
        r"(?:笔记|规则|指令|消息|提示|备注|记录|件事)|不要让用户知道",
    ),
    rule(
        _ALWAYS,
        "每 所有",
        r"(?:每个|每次|所有|每一个|每条)的?(?:回答|回复|答案).{0,8}(?:宣传|广告|推荐|商店|产品|链接|购买|推销|店)",
    ),
    rule(
        _MEMORY,
        "记忆 記憶",
        r"(?:删除|清除|忘记|忘掉|抹去)掉?.{0,4}(?:所有|全部|其他|你的|一切).{0,6}(?:记忆|記憶)",
    ),
    rule(_OBEY, "听 服从", r"只(?:听|服从)(?:从)?(?:我|他)|服从我的(?:命令|指令)"),
)

_RUSSIAN_RULES = r"(?:инструкци|правил|указани|команд|ограничени|запрет)\w{0,4}"
_RUSSIAN_OWN = (
    r"(?:все|всех|всякие|любые|свои|своих|твои|ваши|предыдущие|предыдущих|прежние|прошлые|вышестоящие"
    r"|системные|эти|прошлых|прежних)"
)
_RUSSIAN_NOT = r"\b(?:не|никогда не|нельзя|если|когда) "

_RUSSIAN: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "инструкци правил указани команд ограничени запрет",
        r"\b(?:игнорируй|забудь|пренебреги|отбрось|обойди|(?:нужно|надо|должен|следует"
        r"|должна) (?:игнорировать"
        rf"|забыть))(?:те)? (?:(?!в |во |на |о |об |для )\w{{1,15}} ){{0,3}}?{_RUSSIAN_OWN} "
        rf"(?:\w{{1,15}} ){{0,2}}?{_RUSSIAN_RULES}\b",
        unless_before=_RUSSIAN_NOT,
    ),
    rule(
        _ASIDE,
        "инструкци правил указани команд",
        rf"\bне (?:слушай|выполняй|соблюдай|следуй)(?:те|ся)? (?:\w{{1,15}} ){{0,3}}?{_RUSSIAN_OWN} "
        rf"(?:\w{{1,15}} ){{0,2}}?{_RUSSIAN_RULES}\b",
    ),
    rule(
        _ROLE,
        "ты вы",
        r"\b(?:теперь (?:ты|вы)|(?:ты|вы) теперь|с этого момента (?:ты|вы)|ты больше не) (?:\w{1,15} )?"
        r"(?:модель|ассистент|бот|ии|администратор|админ|разработчик|хакер|система|репетитор|учитель|без|свободн"
        r"|не (?:ограничен|связан))",
    ),
    rule(
        _PROMPT,
        "промпт инструкци систем правил",
        r"\b(?:покажи|раскрой|выведи|напечатай|повтори|расскажи|назови|выдай|открой)(?:те)?\b"
        rf"{_GAP}\b(?:промпт|системн\w{{1,3}} (?:запрос|инструкци|сообщени)|сво\w{{1,3}} (?:инструкци|правил)"
        r"|скрыт\w{1,3} инструкци)",
        unless_before=_RUSSIAN_NOT,
    ),
    rule(
        _SILENCE,
        "эт",
        r"\bне (?:говори|рассказывай|показывай|сообщай|упоминай|раскрывай)(?:те)?\b"
        rf"{_GAP}\bэт\w{{1,3}} (?:заметк|правил|инструкц|сообщени|запис|указани)",
        unless_after=r"\w{0,3},? пока\b",
    ),
    rule(
        _ALWAYS,
        "ответ",
        rf"\b(?:в каждом ответе|во всех ответах|в каждый ответ|в конце каждого ответа)\b{_GAP}\b(?:реклам"
        r"|магазин|товар|продукт|ссылк|купи|мой|моего|мою)"
        rf"|\bреклам\w{{1,6}}\b{_GAP}\b(?:в каждом ответе|во всех ответах|в каждый ответ)",
    ),
    rule(
        _MEMORY,
        "памят воспоминани",
        rf"\b(?:удали|сотри|забудь|очисти)(?:те)?\b{_GAP}\b(?:(?:сво|тво)\w{{1,3}} памят|воспоминани)",
        unless_before=_RUSSIAN_NOT,
    ),
    rule(
        _OBEY,
        "слушайся подчиняйся повинуйся",
        r"\b(?:слушайся|подчиняйся|повинуйся) (?:только )?(?:мне|меня|ему|его)\b",
    ),
)

_OTHERS: tuple[Rule, ...] = (
    rule(
        _ASIDE,
        "instruco instruço regras ordens",
        rf"\b(?:ignore|esqueça|desconsidere)\b{_SHORT}\b(?:todas|suas|instruções|ordens)\b{_SHORT}"
        r"\b(?:instruções|regras|ordens|anteriores)\b",
        unless_before=r"\b(?:não|nunca) ",
    ),
    rule(
        _ASIDE,
        "istruzioni regole",
        rf"\b(?:ignora|dimentica|trascura)\b{_SHORT}\b(?:tutte|tue|istruzioni)\b{_SHORT}\b(?:istruzioni|regole"
        r"|precedenti)\b",
        unless_before=r"\b(?:non|mai) ",
    ),
    rule(
        _ASIDE,
        "instructies regels aanwijzing",
        rf"\b(?:negeer|vergeet)\b (?!niet ){_SHORT}\b(?:alle|je|vorige|eerdere)\b{_SHORT}"
        r"\b(?:instructies|regels|aanwijzingen)\b",
    ),
    rule(
        _ASIDE,
        "無視 忘れ",
        r"(?:以前|これまで|上記|すべて|全て|あなた|前|システム)の?.{0,6}(?:指示|命令|ルール|プロンプト).{0,6}(?:無視|忘れ)(?!た|ず|ない)",
    ),
    rule(
        _ASIDE, "무시 잊어", r"(?:이전|모든|위의|너의).{0,12}(?:지시|명령|규칙|프롬프트).{0,8}(?:무시|잊어)"
    ),
    rule(
        _ASIDE, "التعليمات القواعد", r"(?:تجاهل|انس) .{0,12}(?:التعليمات|القواعد)", unless_before=r"(?:لا ) ?"
    ),
)

_ALL: tuple[Rule, ...] = (*_GERMAN, *_FRENCH, *_SPANISH, *_CHINESE, *_RUSSIAN, *_OTHERS)


def foreign_order_in(text: str) -> str | None:
    """Return what kind of order `text` gives in another language; it is folded and in lower case."""
    return first(_ALL, text)
