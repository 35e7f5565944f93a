"""How the index reads many texts of many languages, recorded, so that nothing of it changes unseen.

    python -m tests.memory.search.recorded

writes the record anew after a change that is wanted; read the difference before you commit it. Whether a
reading is right is judged elsewhere (the other tests of this folder, benchmarks/quality/retrieval).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from ace_graph.memory.search import content_words, estimate_tokens, language_of, normal_form, terms, tokens
from tests.memory.retrieval.questions import LESSONS, NEEDED, UNRELATED
from tests.memory.screening.recorded import whole_texts
from tests.memory.similarity.recorded import texts as claims

RECORD = Path(__file__).with_name("recorded.tsv")
_ODD = (
    "l'heure d'été and the student's 1½ cups of x² at 3⁄4 of 1,000.50%",
    "ＡＢＣ ｆｕｌｌ ｗｉｄｔｈ １２３ and C++ or C# in HTTPServer2 and parseHTML_into-JSON",
    "分数を足す前に通分する 分母を揃える", "분모를 같게 한 다음 더하세요", "ลบเศษส่วนต้องหาตัวส่วนร่วม",
    "Найдите общий знаменатель дробей", "Βρείτε τον κοινό παρονομαστή", "भिन्नों का योग निकालें",
    "אתה צריך מכנה משותף", "أوجد المقام المشترك", "பின்னங்களைக் கூட்டுக", "Կոտորակների գումարը",
    "don't they'll rock 'n' roll o'clock 1st 2nd 3rd 4th 5.6.7 1/2 12,34 1,234,567 50% ٣٤",
    "\u0301marks first e\u0301\u0323 ﬁne ½ ⅓ x¹⁰ a\u200bb a\u00adb a\u2019s a\u02bcs",
    "x" * 70 + " " + "long" * 20 + "\n\n    indented\n\tcode(); // done",
)  # fmt: skip


def texts() -> list[str]:
    """Return what is read: lessons, questions, claims, attacks, and texts that are hard to cut into words."""
    asked = (question for question, _ in NEEDED)
    return list(dict.fromkeys((*LESSONS.values(), *asked, *UNRELATED, *claims()[::3], *whole_texts(), *_ODD)))


def readings(given: Iterable[str]) -> list[str]:
    """Return for each text its hash, its language, the estimate of its tokens, and a hash of its terms."""
    return [
        f"{_hash(text)}\t{language_of(text)}\t{estimate_tokens(text)}\t{_hash(_all_terms(text))}"
        for text in given
    ]


def _all_terms(text: str) -> str:
    german = (terms(text, "german"), list(content_words(text, "german").items()))
    forms = [normal_form(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    return json.dumps([tokens(text), terms(text), list(content_words(text).items()), german, forms])


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in readings(texts())), encoding="utf-8")
