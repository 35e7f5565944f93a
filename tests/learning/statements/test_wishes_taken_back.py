"""A learner takes back a wish for the answers in other words; what is none of it stays."""

from __future__ import annotations

import pytest

from tests.learning.statements.test_form_statements import told


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("Always end with a summary.", "No more summaries at the end, please."),
        ("Always explain with examples from sports.", "You can drop the examples from sports."),
        ("Always answer in French, please.", "Actually forget about French, use English again from here on."),
        ("Antworte immer mit Beispielen.", "Lass die Beispiele ab heute weg."),
        ("Erkläre mir alles immer mit Tabellen.", "Die Tabellen kannst du dir sparen."),
        ("Réponds toujours avec des exemples.", "Plus besoin d'exemples, merci."),
        ("Rispondi sempre con esempi.", "Non voglio più esempi."),
        ("Usa siempre tablas.", "Ya no quiero tablas."),
        ("Adicione sempre um resumo.", "Já não quero o resumo."),
        ("Antwoord altijd met voorbeelden.", "Laat de voorbeelden maar weg."),
    ],
)
def test_a_wish_goes_when_its_object_is_taken_back(wish: str, message: str) -> None:
    assert wish.rstrip(".").removesuffix(", please") in told(wish)[0]
    assert not any(each in wish for each in told(wish, message))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("Always end with a summary.", "I don't need a calculator."),
        ("Always end with a summary of the formulas.", "No more summaries of novels."),
        ("Please never use emojis with me.", "No more emojis from now on, please."),
        ("I prefer short answers.", "I don't want answers in German."),
        ("Always end with a summary.", "My sister said: no more summaries."),
        ("Always end with a summary.", "Do you no longer like summaries?"),
        ("Antworte immer mit Beispielen.", "Ich brauche keine Hilfe mehr."),
        ("Réponds toujours avec des exemples.", "Je n'ai plus de papier."),
    ],
)
def test_a_wish_stays_when_something_else_is_taken_back(wish: str, message: str) -> None:
    [kept] = told(wish)
    assert kept in told(wish, message)
