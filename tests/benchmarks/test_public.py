"""Public test sets as a command: made-up files in the published form, and what is wrong with others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from benchmarks.public import __main__ as public
from benchmarks.public import beam, fact_consolidation, locomo, longmemeval, systems
from benchmarks.public.reading import first_questions
from benchmarks.public.rewording import reworded
from benchmarks.public.systems import Entry, Line, Part, Question, Shown, ask_ours, find_systems

FACTS = (
    "Jonas Brandt works in the city of Kiel.",
    "The keeper of Skagen lighthouse is Jonas Brandt.",
    "Greta Lund works in the city of Aarhus.",
    "Jonas Brandt works in the city of Lisbon.",
    *(f"The colour of wagon {n} is shade{n}." for n in range(40)),
)
QUESTIONS = {
    "In which city does Jonas Brandt work?": ["Lisbon"],
    "In which city does the keeper of Skagen lighthouse work?": ["Lisbon"],
    "In which city does Olga Petrova work?": ["Odessa"],
}
NUMBERED = "\n".join(f"{n}. {fact}" for n, fact in enumerate(FACTS))
FACT_FILE = {
    "context": f"Here is a list of facts:\n{NUMBERED}",
    "questions": [*QUESTIONS],
    "answers": [*QUESTIONS.values()],
}


def turn(number: str, speaker: str, text: str) -> dict[str, str]:
    return {"speaker": speaker, "dia_id": number, "text": text}


def talk(name: str, what: str, qa: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return a conversation as locomo10.json has it, with observations of three turns."""
    return {
        "sample_id": name,
        "qa": list(qa),
        "conversation": {
            "speaker_a": "Nora",
            "speaker_b": "Piet",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn("D1:1", "Nora", f"I bought a {what} last week."),
                turn("D1:2", "Piet", "Nice!"),
            ],
            "session_2_date_time": "2:10 pm on 9 May, 2023",
            "session_2": [turn("D2:1", "Piet", "My sister Tilda sings in a choir.")],
        },
        "observation": {
            "session_1_observation": {
                "Nora": [[f"Nora bought a {what}.", "D1:1"]],
                "Piet": [["Piet likes what Nora bought.", ["D1:1", "D1:2"]]],
            },
            "session_2_observation": {
                "Nora": [],
                "Piet": [["Piet's sister Tilda sings in a choir.", "D2:1"]],
            },
        },
        "session_summary": {},
        "event_summary": {},
    }


LOCOMO = [
    talk(
        "conv-1",
        "kayak",
        [
            {"question": "What did Nora buy?", "answer": "a kayak", "evidence": ["D1:1"], "category": 4},
            {
                "question": "Where does Tilda sing?",
                "answer": "choir",
                "evidence": ["D:2:01; D1:2"],
                "category": 1,
            },
            {"question": "Who painted the shed?", "answer": "Piet", "evidence": ["D7:3"], "category": 2},
            {"question": "What did Piet buy?", "adversarial_answer": "kayak", "evidence": [], "category": 5},
        ],
    ),
    talk(
        "conv-2", "loom", [{"question": "Who owns a loom?", "answer": 1, "evidence": ["D1:1"], "category": 4}]
    ),
]
CORRECTIONS: list[dict[str, object]] = [
    {
        "question_id": "locomo_0_qa0",
        "question": "What did Nora buy?",
        "golden_answer": "a kayak",
        "category": 4,
        "error_type": "WRONG_CITATION",
        "cited_evidence": ["D1:1"],
        "correct_evidence": ["D2:1"],
        "reasoning": "made up",
        "correct_answer": "a kayak",
    },
    {"question_id": "locomo_1_qa0", "question": "Who owns a loom?", "correct_evidence": []},
]


def message(number: int, role: str, content: str) -> dict[str, object]:
    return {"id": number, "role": role, "content": content, "time_anchor": None, "index": "1,1"}


BEAM_CHAT = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [
                message(0, "user", "Always give me prices in Danish crowns. ->-> 1,1"),
                message(1, "assistant", "I shall do that with every price."),
            ],
            [
                message(2, "user", "My greenhouse has twelve windows. ->-> 1,2"),
                message(3, "assistant", "Twelve windows give a lot of light."),
            ],
        ],
    }
]
BEAM_QUESTIONS: dict[str, list[dict[str, object]]] = {
    "abstention": [{"question": "Which opera did the neighbour compose?", "rubric": ["does not know"]}],
    "information_extraction": [
        {"question": "How many windows has my greenhouse?", "answer": "12", "source_chat_ids": [2, 3]}
    ],
    "instruction_following": [
        {"question": "What does a spade cost?", "rubric": [], "source_chat_ids": {"instruction": [0]}}
    ],
    "summarization": [{"question": "Sum it up.", "source_chat_ids": [99]}],
}

LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "Which instruments did I repair?",
        "answer": "a cello and a tuba",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_1", "noise", "answer_2"],
        "haystack_dates": ["2023/05/20", "2023/05/21", "2023/05/22"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I repair old instruments, today a cello.", "has_answer": True},
                {"role": "assistant", "content": "A cello is large.", "has_answer": False},
            ],
            [{"role": "user", "content": "What is the weather like?"}],
            [{"role": "user", "content": "Another of my instruments: I repair a tuba.", "has_answer": True}],
        ],
        "answer_session_ids": ["answer_1", "answer_2"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "single-session-user",
        "question": "What is my cat called?",
        "answer": "You did not say.",
        "haystack_session_ids": ["answer_3"],
        "haystack_dates": ["2023/05/20"],
        "haystack_sessions": [[{"role": "user", "content": "I have a dog.", "has_answer": False}]],
        "answer_session_ids": ["answer_3"],
    },
    {
        "question_id": "q3",
        "question_type": "single-session-assistant",
        "question": "What did you say of cellos?",
        "answer": 1,
        "haystack_session_ids": ["answer_1"],
        "haystack_dates": ["2023/05/20"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Tell me of cellos.", "has_answer": False},
                {"role": "assistant", "content": "They are large.", "has_answer": True},
            ]
        ],
        "answer_session_ids": ["answer_1"],
    },
]


def write(file: Path, held: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(held), encoding="utf-8")
    return file


def write_beam(folder: Path) -> Path:
    write(folder / "chat.json", BEAM_CHAT)
    write(folder / "probing_questions" / "probing_questions.json", BEAM_QUESTIONS)
    return folder


async def ask(parts: Sequence[Part], ours: systems.System) -> dict[str, list[list[Shown]]]:
    return {"ours": [await ours(part, lambda: None) for part in parts]}


OURS = partial(ask_ours, None)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.public", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_reworded_facts_keep_subject_and_value_and_their_order() -> None:
    facts = ["The capital of Orsa is Belm.", "Orsa was founded by Vera Holt.", "Wagons squeak."]
    told = {tuple(reworded(facts, seed)) for seed in range(40)}
    others = {"Orsa's capital is Belm.", "Belm is the capital of Orsa."}
    assert {capital for capital, _, _ in told} == {facts[0], *others}
    assert all("Vera Holt" in founder and "Orsa" in founder for _, founder, _ in told)
    assert {last for _, _, last in told} == {"Wagons squeak."}


async def test_a_value_that_was_replaced_in_other_words_is_not_shown_as_true(tmp_path: Path) -> None:
    told = ("The capital of Orsa is Belm.", "The capital of Orsa is Kiel.")
    held = {
        "context": "\n".join(f"{n}. {fact}" for n, fact in enumerate(told)),
        "questions": ["What is the capital of Orsa?"],
        "answers": [["Kiel"]],
    }
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(held), encoding="utf-8")
    for seed in range(6):
        [part] = fact_consolidation.read(file, seed)
        [asked] = fact_consolidation.judge(part, await ask_ours(None, part, lambda: None))
        assert (asked.first, asked.outdated, asked.lines) == (True, False, 1), seed


async def test_prompts_are_judged_by_the_newest_value(tmp_path: Path) -> None:
    (part,) = fact_consolidation.read(write(tmp_path / "facts.json", FACT_FILE))
    one, chain, unknown = fact_consolidation.judge(part, await OURS(part, lambda: None))
    assert (one.found, one.first, one.outdated) == (True, True, False)
    assert (chain.found, chain.first) == (True, False)
    assert not unknown.found


async def test_a_system_that_shows_a_replaced_value_shows_it_as_true(tmp_path: Path) -> None:
    (part,) = fact_consolidation.read(write(tmp_path / "facts.json", FACT_FILE))
    found, missing = find_systems(10, ("bm25",))
    one, _, _ = fact_consolidation.judge(part, await found["bm25"](part, lambda: None))
    assert (one.found, one.outdated, missing) == (True, True, [])


async def test_observations_of_locomo_are_found_by_what_they_cite(tmp_path: Path) -> None:
    parts = locomo.read(write(tmp_path / "locomo10.json", LOCOMO))
    first = parts[0]
    assert [line.key for line in first.lines] == ["D1:1", "D1:1 D1:2", "D2:1"]
    assert first.lines[0].said == "Nora: I bought a kayak last week."
    assert (first.lines[2].turn, first.lines[2].conversation) == ("D2:1", "2")
    assert first.questions[1].evidence == {"D2:1", "D1:2"}, "as carelessly as the key writes them"
    assert [question.text for question in first.questions if question.kind == locomo.FOREIGN] == [
        "Who owns a loom?"
    ]
    (table,) = locomo.tables(parts, await ask(parts, OURS))
    row = dict(zip(table.columns[:6], table.rows[0], strict=False))
    assert row["category 2"] == "-", "no observation cites the evidence"
    assert float(row["category 4"]) > 0.5
    assert table.note == "3 questions; of 1 more no observation cites the evidence."


def test_corrected_evidence_takes_the_place_of_that_of_the_key(tmp_path: Path) -> None:
    corrections = locomo.read_corrections([write(tmp_path / "errors.json", CORRECTIONS)])
    first, second = locomo.read(write(tmp_path / "locomo10.json", LOCOMO), corrections)
    assert first.questions[0].evidence == {"D2:1"}
    assert [q.text for q in second.questions if q.kind in locomo.CATEGORIES] == [], "it has no evidence left"
    with pytest.raises(ValueError, match="belong together"):
        locomo.read(tmp_path / "locomo10.json", {(7, "Why?"): frozenset({"D1:1"})})
    with pytest.raises(ValueError, match=r"facts\.json has no corrections"):
        locomo.read_corrections([write(tmp_path / "facts.json", FACT_FILE)])


async def test_messages_of_beam_are_found_by_their_ids(tmp_path: Path) -> None:
    write_beam(tmp_path / "100K" / "2")
    write_beam(tmp_path / "100K" / "10")
    parts = beam.read(tmp_path / "100K")
    assert [part.name for part in parts] == ["100K/2", "100K/10"]
    part = parts[0]
    assert part.lines[2] == Line("My greenhouse has twelve windows.", "2")
    assert beam.read(tmp_path / "100K" / "2" / "chat.json") == [part]
    by_kind = {question.kind: beam.relevant(part, question) for question in part.questions}
    assert by_kind == {
        "abstention": frozenset(),
        "information_extraction": {2, 3},
        "instruction_following": {0},
        "summarization": frozenset(),
    }
    ours = await OURS(part, lambda: None)
    assert 2 in ours[1].places(10)
    both = Shown([Entry("windows", (2,)), Entry("light", (3,))], 9)
    overall, kinds = beam.tables([part], {"made up": [[both] * len(part.questions)]})
    row = dict(zip(kinds.columns, kinds.rows[0], strict=True))
    assert row["information_extraction"] == "1.000 / 1.000"
    assert row["instruction_following"] == "0.000 / 0.000"
    assert row["summarization"] == "- / -"
    assert overall.rows == [["made up", "0.500", "0.500", "9", "1.00"]]
    assert overall.note.startswith("1 questions")


def test_a_row_of_the_data_set_of_beam_is_the_same_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"conversation_id": "1", "chat": BEAM_CHAT, "probing_questions": repr(BEAM_QUESTIONS)}
    (part,) = beam.read(write_beam(tmp_path / "100K" / "1"))
    assert beam.part_of_row("100K", row) == part
    with pytest.raises(ValueError, match="no rows of BEAM"):
        beam.part_of_row("100K", {"chat": BEAM_CHAT})
    monkeypatch.setattr(beam, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(ValueError, match="pip install pyarrow"):
        beam.read(tmp_path / "100K.parquet")


async def test_what_a_message_asks_for_is_kept(tmp_path: Path) -> None:
    (part,) = beam.read(write_beam(tmp_path / "1"))
    ((question, said, bullets),) = await beam.kept_statements(part)
    assert (question.kind, said) == ("instruction_following", "Always give me prices in Danish crowns.")
    assert any("Danish crowns" in bullet for bullet in bullets)
    table = beam.statement_table([(question, said, bullets)])
    assert table.rows == [["instruction_following", "1", "1.00"], ["preference_following", "0", "-"]]


async def test_sessions_of_longmemeval_are_ranked_by_their_best_line(tmp_path: Path) -> None:
    parts = longmemeval.read(write(tmp_path / "longmemeval_s.json", LONGMEMEVAL))
    assert [part.questions[0].evidence for part in parts] == [{"answer_1", "answer_2"}, set(), set()]
    assert [line.key for line in parts[0].lines] == ["answer_1", "noise", "answer_2"]
    shown = await ask(parts, OURS)
    assert set(longmemeval.ranked_sessions(parts[0], shown["ours"][0][0])) == {"answer_1", "answer_2"}
    overall, by_type = longmemeval.tables(parts, shown)
    assert overall.rows[0][1:6] == ["1.000"] * 5
    assert by_type.columns == ("system", "multi-session")
    assert overall.note.startswith("1 questions"), "only the assistant said it"


def test_gain_counts_the_first_two_ranks_alike_as_its_authors_do() -> None:
    assert longmemeval.ndcg(["a", "b"], {"a"}) == longmemeval.ndcg(["b", "a"], {"a"}) == 1
    assert longmemeval.ndcg(["x", "y", "a"], {"a"}) == pytest.approx(1 / 1.58496, rel=1e-4)
    assert longmemeval.ndcg(["a", "x"], {"a", "b"}) == 0.5
    assert longmemeval.ndcg(["x"], {"a"}) == 0


def test_a_line_that_was_merged_counts_for_both_places() -> None:
    shown = Shown([Entry("one", (0, 3)), Entry("two", (1,))], 9)
    assert (shown.places(1), shown.places(10)) == ({0, 3}, {0, 1, 3})


def test_a_limit_takes_the_first_questions_of_all() -> None:
    questions = [Question(str(number), "k") for number in range(3)]
    parts = [Part(name, [], questions) for name in "abc"]
    assert [len(part.questions) for part in first_questions(parts, 4)] == [3, 1]
    assert first_questions(parts, None) == parts


def test_systems_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "missing_packages", lambda: ["langmem"])
    found, missing = find_systems(10)
    assert "ours" in found
    assert "langmem" not in found
    assert "mem0 (langmem)" in missing
    monkeypatch.setattr(systems, "find_static_vectors", lambda: None)
    found, missing = find_systems(10)
    assert list(found) == ["ours", "bm25"]
    assert missing[0] == "ours-vectors (wordllama)"


def test_the_command_prints_a_row_for_each_system(tmp_path: Path) -> None:
    file = write(tmp_path / "facts.json", FACT_FILE)
    done = run("fact-consolidation", "--data", file, "--systems", "ours", "bm25")
    assert done.returncode == 0, done.stderr
    assert "0.67" in done.stdout, "two of three are found"
    assert "bm25" in done.stdout
    assert "Licence of the data: MIT" in done.stdout
    assert "Connections" not in done.stdout


def test_help_names_each_set_and_its_licence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["public", "--help"])
    with pytest.raises(SystemExit):
        public.main()
    told = capsys.readouterr().out
    assert all(name in told for name in public.SETS)
    assert "CC BY-NC 4.0" in told


@pytest.mark.parametrize("name", [*public.SETS])
@pytest.mark.parametrize(
    "text", ["[]", "{}", "no JSON", '[{"a": 1}]', '{"context": "", "questions": [], "answers": []}']
)
def test_a_file_of_another_shape_is_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json"):
        public.SETS[name].read(file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("locomo", "--data", "nowhere.json"), "nowhere.json"),
        (("beam", "--data", "x", "--corrections", "y"), "--corrections are for locomo only"),
        (("locomo", "--data", "x", "--show"), "--show is for beam only"),
        (("locomo", "--data", "x", "--limit", "0"), "--limit is at least 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: Sequence[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["public", *arguments])
    with pytest.raises(SystemExit) as stopped:
        public.main()
    assert said in f"{stopped.value.code} {capsys.readouterr().err}"
