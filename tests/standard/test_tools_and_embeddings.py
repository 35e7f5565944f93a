"""LangChain's standard suites for our tools and for the word vectors."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import EmbeddingsIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from ace_graph.agent.embeddings import find_static_vectors
from ace_graph.agent.tools.calculator import calculator

VECTORS = find_static_vectors()
Params = dict[str, Any]  # Any: the suite's signature


class TestCalculatorUnit(ToolsUnitTests):
    @property
    def tool_constructor(self) -> type[BaseTool] | BaseTool:
        return calculator

    @property
    def tool_invoke_params_example(self) -> Params:
        return {"expression": "1/2 + 1/3"}


class TestCalculator(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> type[BaseTool] | BaseTool:
        return calculator

    @property
    def tool_invoke_params_example(self) -> Params:
        return {"expression": "1/2 + 1/3"}


@pytest.mark.skipif(VECTORS is None, reason="the extra embeddings is not installed")
class TestStaticVectors(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return type(VECTORS) if VECTORS is not None else Embeddings

    @pytest.fixture
    def model(self) -> Embeddings:
        assert VECTORS is not None
        return VECTORS
