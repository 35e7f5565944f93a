"""The templates: playbooks that come with the package. A playbook is created from one by its name."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from ace_graph.memory.bullet import Polarity
from ace_graph.playbooks.templates import TEMPLATES, Template, TemplateName, template
from ace_graph.server.dependencies import Learner
from ace_graph.server.errors import error_responses

__all__ = ["routes"]

routes = APIRouter(prefix="/api/templates", tags=["playbooks"])


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TemplateBulletReply(_Body):
    """One bullet of a template."""

    section: str
    polarity: Polarity
    content: str


class TemplateReply(_Body):
    """A template with all that it says. `POST /api/playbooks` takes its name."""

    name: TemplateName
    description: str
    bullets: list[TemplateBulletReply]


class TemplatesReply(_Body):
    """All templates."""

    templates: list[TemplateReply]


@routes.get("", responses=error_responses())
async def list_all(_: Learner) -> TemplatesReply:
    """Return the templates, which are the same for everybody."""
    return TemplatesReply(templates=[_reply(template(name)) for name in TEMPLATES])


def _reply(found: Template) -> TemplateReply:
    bullets = [
        TemplateBulletReply(section=each.section, polarity=each.polarity, content=each.content)
        for each in found.bullets
    ]
    return TemplateReply(name=found.name, description=found.description, bullets=bullets)
