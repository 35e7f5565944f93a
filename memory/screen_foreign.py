"""The plainest order of all, to ignore one's instructions, in other languages than English.

Does not: cover the other orders, or the other languages. docs/security.md says so.
"""

from __future__ import annotations

from ace_graph.memory.screen_rule import Rule, first, rule

__all__ = ["foreign_order_in"]

_KIND = "in another language, to set its instructions aside"
_GAP = r"[^.!?]{0,60}?"

_ORDERS: tuple[Rule, ...] = (
    rule(
        _KIND,
        "anweisung vorgabe regel befehl",
        rf"\b(?:ignorier|missacht|vergiss)\w*\b{_GAP}\b(?:anweisung|vorgabe|regel|befehl)\w*\b",
    ),
    rule(
        _KIND,
        "instruction consigne regle",
        rf"\b(?:ignore[rz]?|oublie[rz]?)\b{_GAP}\b(?:instructions?|consignes?|regles?)\b{_GAP}"
        r"\b(?:precedent|ci-dessus|avant|systeme)",
    ),
    rule(
        _KIND,
        "instruccion regla indicacion orden",
        rf"\b(?:ignora|ignore|olvida|omite|desobedece)\w*\b{_GAP}"
        r"\b(?:instrucciones|reglas|indicaciones|ordenes)\b",
    ),
    rule(
        _KIND,
        "instruco regras ordens",
        rf"\b(?:ignore|esqueca|desconsidere)\b{_GAP}\b(?:instrucoes|regras|ordens)\b",
    ),
    rule(_KIND, "istruzioni regole", rf"\b(?:ignora|dimentica|trascura)\b{_GAP}\b(?:istruzioni|regole)\b"),
    rule(
        _KIND,
        "instructies regels aanwijzing",
        rf"\b(?:negeer|vergeet)\b{_GAP}\b(?:instructies|regels|aanwijzingen)\b",
    ),
    rule(
        _KIND, "忽略 无视 忘记 忽視 無視", r"(?:忽略|无视|忘记|忽視|無視).{0,20}(?:指令|指示|规则|規則|提示)"
    ),
    rule(_KIND, "無視 忘れ", r"(?:指示|命令|ルール|プロンプト).{0,20}(?:無視|忘れ)"),
    rule(_KIND, "инструкц правил", r"(?:игнорир|забудь|пренебрег)\w*.{0,40}(?:инструкц|правил)"),
    rule(_KIND, "التعليمات القواعد", r"(?:تجاهل|انس).{0,30}(?:التعليمات|القواعد)"),
)


def foreign_order_in(text: str) -> str | None:
    """Return what kind of order `text` gives in another language; it is lower case and without accents."""
    return first(_ORDERS, text)
