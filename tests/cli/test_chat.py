"""`ace-graph chat`, at a terminal and from a pipe."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, cast

import pytest

from ace_graph.cli import ChatLoop, ask_while_opening
from ace_graph.testing import GeminiRequest, GeminiServer
from tests.cli.commands import Commands
from tests.plugins.sizes import PATIENT


class Hanging(GeminiServer):
    """Never answers its first request; `asked` is set when that came."""

    def __init__(self, default: str) -> None:
        super().__init__(default)
        self.asked = threading.Event()
        self.hang()

    def take(self, request: GeminiRequest) -> Any:  # Any: a reply, whose type is the server's own
        reply = super().take(request)
        self.asked.set()
        return reply


def _chat(ace: Commands, *lines: str) -> str:
    return ace.ok("chat", stdin="\n".join(lines) + "\n").out


def test_piped_lines_are_questions_and_each_turn_reports_its_learning(ace: Commands) -> None:
    out = _chat(ace, "Call me Ann.", "", "What is 1/2 + 1/3?", "thanks").splitlines()
    assert "learned: + pro-00001 Learner says: Call me Ann" in out
    assert "The answer is 5/6." in out
    assert sum(line.startswith("learned:") for line in out) == 3
    assert len(ace.bullets()) == 1


def test_a_second_chat_uses_what_the_first_one_taught(ace: Commands) -> None:
    _chat(ace, "Call me Ann. I prefer pictures.")
    second = _chat(ace, "What is 1/2 + 1/3?")
    assert "Ann" in second
    assert "[#####.]" in second
    assert "Ann" not in ace.ok("chat", "--learner", "ben", stdin="What is 1/2 + 1/3?\n").out


def test_a_chat_that_its_learner_corrected_does_better_the_next_time(ace: Commands) -> None:
    first = _chat(ace, "What is 3/2 + 1/4?", "No, it should be 1.75")
    assert "The answer is 7/4." in first
    assert "You are right, 7/4 should be written 1.75 here." in first
    assert "The answer is 2.25." in _chat(ace, "What is 3/2 + 3/4?")
    again = _chat(ace, "What is 3/2 + 7/4?", "That's wrong, it is 3 1/4.")
    assert "The answer is 3.25." in again
    assert "replaces" in again, "the newer word takes the place of advice that failed"
    assert "The answer is 2 1/4." in _chat(ace, "What is 3/2 + 3/4?")
    assert "The answer is 9/4." in ace.ok("chat", "--learner", "ben", stdin="What is 3/2 + 3/4?\n").out


def test_a_learner_is_greeted_once_and_a_number_is_explained(ace: Commands) -> None:
    _chat(ace, "Call me Ann.")
    out = _chat(
        ace, "What is 2/3 + 1/4?", "i dont get it why 12?", "What is 1/2 + 1/3? And who was Napoleon?"
    )
    assert out.count("Ann, here you are.") == 1
    assert "12 is the first number in both times tables: 3, 6, 9, 12 and 4, 8, 12." in out
    assert out.count("The answer is 11/12.") == 1
    assert 'I have not answered "And who was Napoleon?" here' in out


def test_the_conversation_so_far_is_known(ace: Commands) -> None:
    assert "The answer is 3/4." in _chat(ace, "What is 1/2 + 1/4?", "can you draw it?").partition("draw")[0]
    assert "[##..]" in _chat(ace, "What is 1/2 + 1/4?", "can you draw it?")


@pytest.mark.parametrize(
    ("given", "known"), [(("--window", "1"), 1), (("--window", "all"), 6), (("--window", "0"), 0)]
)
def test_how_much_of_the_conversation_is_read(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, given: tuple[str, str], known: int
) -> None:
    monkeypatch.setenv("ACE_WINDOW_SIZE", "3")
    with GeminiServer(default="<final>Yes.</final>") as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        ace.ok("chat", *given, stdin="".join(f"Is {n} a number?\n" for n in range(7)))
        sent = [json.dumps(request.body["contents"]) for request in server.requests]
    assert [text.count("a number?") for text in sent if "Is 6 a number?" in text][:1] == [known + 1]


def test_a_window_that_is_none_is_refused(ace: Commands) -> None:
    result = ace("chat", "--window", "many", stdin="Hi\n")
    assert (result.code, "--window 'many' is neither a number from 0 to 100 nor all" in result.err) == (
        2,
        True,
    )


def test_the_playbook_can_be_looked_at(ace: Commands) -> None:
    out = _chat(ace, "/playbook", "I prefer pictures.", "/playbook")
    assert out.startswith("Nothing is remembered yet.\n")
    assert "  1. Learner says: I prefer pictures  (preferences, +0/-0)" in out


def test_the_playbook_is_searched_explained_changed_and_changed_back(ace: Commands) -> None:
    ace.ok("playbook", "add", "Estimate first", "--tag", "exam")
    ace.ok("playbook", "add", "Name the unit")
    before = {each["content"]: each for each in ace.bullets()}
    steps = (
        "/playbook",
        "/playbook why 2",
        "/playbook pin 2",
        "/playbook remove 1",
        "/playbook search first",
    )
    out = _chat(ace, *steps)
    assert "  1. Estimate first  (lessons, +0/-0)\n  2. Name the unit" in out
    assert "You or your host put it there." in out
    assert "pinned: Name the unit" in out
    assert "removed: Estimate first" in out
    assert out.endswith("Nothing holds these words.\n")
    assert [(b["content"], b["pinned"]) for b in ace.bullets()] == [("Name the unit", True)]
    steps = (
        "/playbook",
        "/playbook remove 1",
        "/playbook undo",
        "/playbook unpin les-00002",
        "/playbook undo",
    )
    assert _chat(ace, *steps).count("taken back: les-00002 is as it was") == 2
    [kept] = ace.bullets()
    assert (kept["content"], kept["pinned"]) == ("Name the unit", True)
    assert kept["created_at"] == before["Name the unit"]["created_at"]


def test_a_refused_playbook_command_says_why(ace: Commands) -> None:
    done = ace("chat", stdin="/playbook undo\n/playbook pin 7\n/playbook why no-such\n/playbook dance\n")
    assert "there is nothing to undo" in done.err
    assert "there is no item 7" in done.err
    assert "no-such: there is no such item" in done.err
    assert "/playbook remove N" in done.out


_ADVICE = "Rewrite both fractions with their smallest common denominator, then add the tops only."


def test_feedback_votes_on_used_bullets_and_can_be_undone(ace: Commands) -> None:
    ace.ok("playbook", "add", _ADVICE)
    [advice] = ace.bullets()
    out = _chat(ace, "Adding fractions: what is 1/2 + 1/3?", "/feedback good clear and short")
    assert f"The last answer was right; {advice['id']} has a point more." in out
    assert [(b["helpful"], b["harmful"]) for b in ace.bullets()] == [(1, 0)]
    reasons = [entry["reason"] for entry in ace.ok("playbook", "history", "--json").json["versions"]]
    assert reasons[0] == "feedback good clear and short"
    _chat(ace, "Adding fractions: what is 1/2 + 1/4?", "/feedback thanks!", "/feedback that was wrong")
    assert [(b["helpful"], b["harmful"]) for b in ace.bullets()] == [(1, 1)]


def test_feedback_before_an_answer_is_refused_and_the_chat_goes_on(ace: Commands) -> None:
    done = ace("chat", stdin="/feedback good\nWhat is 2+2?\n")
    assert "ask something first" in done.err
    assert "The answer is 4." in done.out
    assert done.code == 1, "from a pipe a line that failed is not lost"


@pytest.mark.parametrize("line", ["/help", "/feedback", "/nonsense"])
def test_help_is_shown_on_request_and_for_unknown_commands(ace: Commands, line: str) -> None:
    assert "/feedback good|bad" in _chat(ace, line)


def test_quit_leaves_the_rest_unread(ace: Commands) -> None:
    assert _chat(ace, "/quit", "What is 2+2?") == ""


def test_a_missing_model_is_reported_on_stderr_only(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = ace.ok("chat", stdin="What is 2+2?\n").err
    assert "offline tutor" in quiet
    assert "Loaded" not in quiet
    monkeypatch.setenv("ACE_LOG_LEVEL", "INFO")
    assert "[ACE Memory] Loaded 0 bullets" in ace.ok("chat", stdin="What is 2+2?\n").err


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["--mode", "weird"], 2, "cot, tot or react"),
        (["--learner", ""], 2, "learner_id"),
        (["--store", "sqlite:///no/such/folder/x.db"], 1, "x.db"),
    ],
    ids=["mode", "learner", "store"],
)
def test_what_can_not_work_ends_before_the_first_question(
    ace: Commands, args: list[str], code: int, why: str
) -> None:
    done = ace("chat", *args, stdin="What is 2+2?\n")
    assert (done.code, done.out) == (code, "")
    assert why in done.err


def test_a_mode_can_be_chosen(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_LOG_LEVEL", "INFO")
    assert "received: mode=tot" in ace.ok("chat", "--mode", "tot", stdin="What is 2+2?\n").err


def test_an_answer_of_a_model_can_not_move_the_cursor(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    with GeminiServer(default="plain \x1b[2Jtext\r") as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        out = _chat(ace, "hello")
    assert "plain \\x1b[2Jtext" in out
    assert "\x1b" not in out


def test_a_failed_question_is_reported_without_the_key(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(default="fine now") as server:
        server.fail(403, "no access with key any-s3cret-key")
        monkeypatch.setenv("GEMINI_API_KEY", "any-s3cret-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        done = ace("chat", stdin="hello\nhello again\n")
    assert "fine now" in done.out
    assert "may not use this model" in done.err
    assert "s3cret" not in done.err + done.out
    assert "Traceback" not in done.err


def test_the_first_line_says_in_a_friendly_sentence_who_answers(ace: Commands) -> None:
    for environment in ({"ACE_MODEL": ""}, {"ACE_MODEL": "offline"}):
        first = ace.program("chat", stdin="What is 1/2 + 1/3?\n", **environment).err.splitlines()[0]
        assert first.startswith("Hello! The offline tutor answers here: it can do arithmetic")
        assert "set GEMINI_API_KEY, or ACE_MODEL" in first


def test_at_a_terminal_it_prompts_answers_and_leaves_on_ctrl_d(ace: Commands) -> None:
    with ace.terminal("chat") as terminal:
        terminal.expect("you>")
        terminal.expect("0 bullets remembered (offline, SQLite)")
        terminal.type("What is 1/2 + 1/3?\r")
        terminal.expect("The answer is 5/6.")
        terminal.expect("you>")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_what_can_not_be_opened_ends_the_first_prompt(ace: Commands) -> None:
    with ace.terminal("chat", "--playbook", "nope") as terminal:
        terminal.expect("there is no playbook 'nope'")
        assert terminal.end() == 1


async def test_the_prompt_stands_before_the_conversation_is_open() -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()
    conversation = cast(ChatLoop, object())

    async def ask() -> str:
        asked.set()
        await may_answer.wait()
        return "What is 2+2?"

    async def opened() -> ChatLoop:
        async with asyncio.timeout(PATIENT):
            await asked.wait()
        may_answer.set()
        return conversation

    assert await ask_while_opening(ask, opened) == (conversation, "What is 2+2?")


def test_ctrl_c_clears_a_line_that_was_begun(ace: Commands) -> None:
    with ace.terminal("chat") as terminal:
        terminal.expect("you>")
        terminal.type("Call me Zoe")
        terminal.expect("Zoe")
        terminal.type("\x03")
        terminal.type("What is 1/2 + 1/3?\r")
        terminal.expect("The answer is 5/6.")
        terminal.expect("you>")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert ace.bullets() == []


def test_a_pasted_message_of_three_lines_is_one_turn(ace: Commands) -> None:
    with ace.terminal("chat") as terminal:
        terminal.expect("you>")
        terminal.type("\x1b[200~Call me Ann.\nI prefer pictures.\nWhat is 1/2 + 1/3?\x1b[201~\r")
        terminal.expect("The answer is 5/6.")
        terminal.expect("learned:")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert len(ace.bullets()) == 2
    assert len(json.loads(ace.ok("trajectory", "list", "--json").out)) == 1


def test_ctrl_c_at_the_prompt_leaves_cleanly(ace: Commands) -> None:
    with ace.terminal("chat") as terminal:
        terminal.expect("you>")
        assert terminal.interrupt_to_the_end() == 0


def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(ace: Commands) -> None:
    with Hanging(default="the second answer") as server:
        settings = {"GEMINI_API_KEY": "any-key", "GOOGLE_GEMINI_BASE_URL": server.url}
        with ace.terminal("chat", **settings) as terminal:
            terminal.expect("you>")
            terminal.type("Remember that I like tea.\r")
            assert server.asked.wait(PATIENT)
            terminal.type("\x03")
            terminal.expect("stopped; the conversation continues without this question")
            terminal.expect("you>")
            terminal.type("hello\r")
            terminal.expect("the second answer")
            terminal.expect("you>")
            terminal.type("/quit\r")
            assert terminal.end() == 0
        questions = [request.text for request in server.requests if "hello" in request.text]
        assert questions
        assert not any("like tea" in text for text in questions)
    assert ace.bullets() == [], "a turn that was stopped learns nothing"


def test_a_playbook_that_is_not_there_ends_the_chat_before_the_first_question(ace: Commands) -> None:
    done = ace("chat", "--playbook", "nope", stdin="")
    assert done.code == 1
    assert "there is no playbook 'nope'" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("not good", "was not right"),
        ("the answer was right", "answer was right"),
        ("the answer wasn't right", "was not right"),
        ("it was not very helpful!", "was not right"),
        ("thumbs up", "answer was right"),
        ("thumbs down", "was not right"),
        ("too long", "was not right"),
        ("it was too hard", "was not right"),
        ("blue", "I did not understand that"),
        ("the sky is right above", "I did not understand that"),
    ],
)
def test_words_after_feedback_are_understood_or_said_not_to_be(ace: Commands, words: str, told: str) -> None:
    said = _chat(ace, "What is 2+2?", f"/feedback {words}")
    assert told in said
    assert "/playbook" not in said, "not the help"


def test_a_temporary_chat_keeps_nothing_and_says_so(ace: Commands) -> None:
    _chat(ace, "Call me Ann.")
    lines = "Remember that I like pictures.\nWhat is 1/2 + 1/3?\n/feedback good\n"
    ran = ace("chat", "--temporary", stdin=lines)
    assert "nothing is kept in a temporary chat" in ran.out
    assert "Ann" not in ran.out
    assert "Temporary chat" in ran.err
    assert "stores no votes" in ran.err
    assert [each["content"] for each in ace.bullets()] == ["Learner says: Call me Ann"]
    refused = ace("chat", "--temporary", "--playbook", "api", stdin="hi\n")
    assert (refused.code, "reads no playbooks" in refused.err) == (2, True)


@pytest.mark.parametrize("options", [(), ("--temporary",)])
def test_the_tokens_of_a_day_end_with_a_friendly_sentence(
    ace: Commands, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ACE_DAILY_TOKENS", "1")
    done = ace("chat", *options, stdin="What is 1/2 + 1/3?\nWhat is 1/2 + 1/4?\n")
    assert done.code == 1
    assert "The answer is 5/6." in done.out
    last = done.out.splitlines()[-1]
    assert last.startswith("That was all for today: 1 tokens a day are used up. We can go on after ")
    assert "3/4" not in done.out
    assert "ace-graph:" not in done.err


def test_the_tokens_of_a_day_are_counted_from_one_command_to_the_next(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    ace.ok("chat", stdin="What is 1/2 + 1/3?\n")
    monkeypatch.setenv("ACE_DAILY_TOKENS", "1")
    assert ace("chat", stdin="What is 1/2 + 1/4?\n").code == 1
    question = '{"messages": [{"role": "user", "content": "What is 1/2 + 1/4?"}]}'
    refused = ace.program("run", stdin=question)
    assert refused.code == 1
    assert "That was all for today" in json.loads(refused.out)["error"]
    assert ace.ok("chat", "--learner", "ben", stdin="What is 1/2 + 1/4?\n").code == 0
