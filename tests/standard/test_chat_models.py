"""LangChain's standard suite for our chat models (what does not apply: tests/plugins/standard_suites.py)."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.testing import ScriptedModel


class TestOfflineTutorUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OfflineTutor


class TestScriptedModelUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ScriptedModel

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:  # Any: the suite's signature
        return {}  # its keywords are roles with their replies


class TestOfflineTutor(ChatModelIntegrationTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OfflineTutor

    @property
    def has_tool_calling(self) -> bool:
        return False  # it calls the project's calculator alone

    @property
    def has_structured_output(self) -> bool:
        return False  # it fills the project's own schemas alone
