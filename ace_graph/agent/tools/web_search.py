"""Web search by Tavily: an optional tool that always answers with text.

It needs the extra `search` and TAVILY_API_KEY. Results are untrusted text: one clean line per field, cut.
Errors are texts, too; nothing is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import cast

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from ace_graph.agent.models import redacted
from ace_graph.base.errors import how_to_install
from ace_graph.base.settings import Settings
from ace_graph.base.text import clean_line, truncate

MAX_RESULTS = 5
MAX_QUERY_CHARS = 400
_TITLE_CHARS = 120
_URL_CHARS = 300
_CONTENT_CHARS = 500
_ERROR_CHARS = 200
_NO_KEY = "Error: web search has no key; set TAVILY_API_KEY (from https://app.tavily.com)."
_NO_PACKAGE = f"Error: web search is not installed: {how_to_install('search')}."
_WRONG_ARGUMENTS = 'Error: call web_search with one text, such as {"query": "common denominators"}.'


class _Arguments(BaseModel):
    query: str


def web_search(settings: Settings, *, base_url: str | None = None, seconds: float = 15.0) -> BaseTool:
    """Return the tool `web_search`, with the key of `settings`.

    `base_url` points it elsewhere than Tavily; `seconds` bounds one search. A missing key, a missing
    package and a failed search are texts that start with "Error:".
    """
    key = settings.tavily_api_key.get_secret_value() if settings.tavily_api_key else None

    async def search(query: str) -> str:
        if key is None:
            return _NO_KEY
        return await _search(query, key, base_url, seconds)

    def search_now(query: str) -> str:
        # On a thread of its own, because an event loop may be running on this one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, search(query)).result()

    return StructuredTool.from_function(
        search_now,
        coroutine=search,
        name="web_search",
        description=f"Search the web. Returns at most {MAX_RESULTS} results with title, address and excerpt.",
        handle_validation_error=_WRONG_ARGUMENTS,
        args_schema=_Arguments,
        metadata={"idempotent": True},
    )


async def _search(query: str, key: str, base_url: str | None, seconds: float) -> str:
    question = clean_line(query)[:MAX_QUERY_CHARS]
    if not question:
        return "Error: there is nothing to search for; give a query."
    try:
        tavily = import_module("tavily")
    except ImportError:
        return _NO_PACKAGE
    try:
        async with asyncio.timeout(seconds), tavily.AsyncTavilyClient(key, api_base_url=base_url) as client:
            found: object = await client.search(question, max_results=MAX_RESULTS)
    except TimeoutError:
        return f"Error: web search gave no answer within {seconds:g} s."
    except Exception as error:  # the run must go on
        reason = redacted(str(error), frozenset({key}))[:_ERROR_CHARS]
        return f"Error: web search failed: {reason or type(error).__name__}"
    results = _as_object(found).get("results")
    if not isinstance(results, list):
        return "Error: web search gave a reply that can't be read."
    items = [item for result in cast("list[object]", results) if (item := _as_object(result))]
    lines = [
        f"{number}. {_field(item, 'title', _TITLE_CHARS)} | {_field(item, 'url', _URL_CHARS)}\n"
        f"   {_field(item, 'content', _CONTENT_CHARS)}"
        for number, item in enumerate(items[:MAX_RESULTS], 1)
    ]
    return "\n".join(lines) or "No results."


def _as_object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _field(item: Mapping[str, object], name: str, limit: int) -> str:
    value = item.get(name)
    text = clean_line(value) if isinstance(value, str) else ""
    return truncate(text, limit)
