"""Guards in ten languages: what differs in a negation, a number or the order of two steps never merges."""

from __future__ import annotations

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory.similarity.compare import compare

KINDS = ("negation", "number", "order")

# For each language: a claim and its negation, with another number in words, and with two steps exchanged;
# then one claim in two layouts or orders.
TABLE = {
    "english": (
        ("Add salt to the pan", "Don't add salt to the pan"),
        ("Wait three minutes before serving", "Wait four minutes before serving"),
        ("First wash the rice, then cook it", "First cook the rice, then wash it"),
        ("After the meal, wash the rice", "Wash the rice after the meal"),
    ),
    "german": (
        ("Die Nudeln im Topf salzen", "Die Nudeln im Topf nicht salzen"),
        ("Warte drei Minuten vor dem Servieren", "Warte vier Minuten vor dem Servieren"),
        ("Erst den Reis waschen, dann den Reis kochen", "Erst den Reis kochen, dann den Reis waschen"),
        ("Nach dem Essen, den Reis waschen", "Den Reis waschen nach dem Essen"),
    ),
    "french": (
        ("Salez les pâtes dans la casserole", "Ne salez pas les pâtes dans la casserole"),
        ("Attendez trois minutes avant de servir", "Attendez quatre minutes avant de servir"),
        ("D'abord lavez le riz, ensuite cuisez le riz", "D'abord cuisez le riz, ensuite lavez le riz"),
        ("Après le repas, lavez le riz", "Lavez le riz après le repas"),
    ),
    "spanish": (
        ("Pon sal en la olla", "No pon sal en la olla"),
        ("Espera tres minutos antes de servir", "Espera cuatro minutos antes de servir"),
        ("Primero lava el arroz, luego cuece el arroz", "Primero cuece el arroz, luego lava el arroz"),
        ("Después de comer, lava el arroz", "Lava el arroz después de comer"),
    ),
    "portuguese": (
        ("Coloque sal na panela", "Não coloque sal na panela"),
        ("Espere três minutos antes de servir", "Espere quatro minutos antes de servir"),
        ("Primeiro lave o arroz, depois cozinhe o arroz", "Primeiro cozinhe o arroz, depois lave o arroz"),
        ("Depois do jantar, lave o arroz", "Lave o arroz depois do jantar"),
    ),
    "italian": (
        ("Metti il sale nella pentola", "Non metti il sale nella pentola"),
        ("Aspetta tre minuti prima di servire", "Aspetta quattro minuti prima di servire"),
        ("Prima lava il riso, poi cuoci il riso", "Prima cuoci il riso, poi lava il riso"),
        ("Dopo la cena, lava il riso", "Lava il riso dopo la cena"),
    ),
    "dutch": (
        ("Voeg zout toe aan de pan", "Voeg geen zout toe aan de pan"),
        ("Wacht drie minuten voor het opdienen", "Wacht vier minuten voor het opdienen"),
        ("Eerst de rijst wassen, daarna de rijst koken", "Eerst de rijst koken, daarna de rijst wassen"),
        ("Na het eten, was de rijst", "Was de rijst na het eten"),
    ),
    "russian": (
        ("Соли макароны в кастрюле", "Не соли макароны в кастрюле"),
        ("Подожди три минуты перед подачей", "Подожди четыре минуты перед подачей"),
        ("Сначала промой рис, потом свари рис", "Сначала свари рис, потом промой рис"),
        ("После обеда, промой рис", "Промой рис после обеда"),
    ),
    "chinese": (
        ("在锅里加盐", "别在锅里加盐"),
        ("上菜前等三分钟", "上菜前等四分钟"),
        ("先 洗米，再 煮米", "先 煮米，再 洗米"),
        ("上菜前等三分钟。", "上菜前等三分钟"),
    ),
    "japanese": (
        ("鍋に塩を入れる", "鍋に塩を入れない"),
        ("出す前に三分待つ", "出す前に四分待つ"),
        ("まず 米を洗い、次に 米を炊く", "まず 米を炊き、次に 米を洗う"),
        ("出す前に三分待つ。", "出す前に三分待つ"),
    ),
}

MORE_APART = (
    ("Öffne nie das Fenster", "Öffne das Fenster"),
    ("Nutze keine Kommas in der Liste", "Nutze Kommas in der Liste"),
    ("Vor dem Essen lesen, nach dem Essen schlafen", "Nach dem Essen lesen, vor dem Essen schlafen"),
    ("Avant le cours, lisez; après le cours, notez", "Après le cours, lisez; avant le cours, notez"),
    ("Il mange jamais de viande", "Il mange de viande"),
    ("Nunca abre la ventana", "Abre la ventana"),
    ("Nunca abra a janela", "Abra a janela"),
    ("Apri mai la finestra", "Apri la finestra"),
    ("Open het raam niet", "Open het raam"),
    ("Никогда не открывай окно", "Открывай окно"),
    ("Здесь нет соли", "Здесь соли"),
    ("在锅里没加盐", "在锅里加盐"),
    ("不在锅里加盐", "在锅里加盐"),
    ("先洗米，再煮米", "先煮米，再洗米"),
    ("塩を入れません", "塩を入れます"),
    ("ここで泳ぐな", "ここで泳ぐ"),
    ("Read before the meal, sleep after the meal", "Read after the meal, sleep before the meal"),
    ("Read before the meal, sleep after the meal", "Sleep before the meal, read after the meal"),
)


def outcomes(a: str, b: str) -> set[str]:
    one, other = (Bullet(id="str-00001", section="strategies", content=text) for text in (a, b))
    return {compare(one, other, 0.9).outcome, compare(other, one, 0.9).outcome}


@pytest.mark.parametrize("language", TABLE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_keeps_two_texts_apart(language: str, kind: str) -> None:
    assert "same" not in outcomes(*TABLE[language][KINDS.index(kind)])


@pytest.mark.parametrize("language", TABLE)
def test_another_layout_or_order_is_the_same(language: str) -> None:
    assert outcomes(*TABLE[language][-1]) == {"same"}


@pytest.mark.parametrize(("a", "b"), MORE_APART)
def test_other_negations_and_exchanged_times_stay_apart(a: str, b: str) -> None:
    assert "same" not in outcomes(a, b)
