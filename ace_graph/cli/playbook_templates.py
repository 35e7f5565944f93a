"""What `playbook templates` does: list the templates, or show what one says."""

from __future__ import annotations

from ace_graph.cli.terminal import counted, print_json, print_line
from ace_graph.memory.bullet import AVOID
from ace_graph.memory.delta.operations import Add
from ace_graph.playbooks.templates import TEMPLATES, Template, template

__all__ = ["show"]


def show(name: str | None, *, as_json: bool) -> None:
    """Print a line for each template, or the bullets of one. Raises UsageError for an unknown one."""
    if name is not None:
        _show_one(template(name), as_json=as_json)
        return
    found = [template(each) for each in TEMPLATES]
    if as_json:
        print_json({"templates": [_summary(each) for each in found]})
        return
    for each in found:
        print_line(f"{each.name}  {counted(len(each.bullets), 'bullet')}  {each.description}")


def _show_one(found: Template, *, as_json: bool) -> None:
    if as_json:
        bullets = [bullet.model_dump(mode="json", exclude_defaults=True) for bullet in found.bullets]
        print_json({**_summary(found), "bullets": bullets})
        return
    for section in dict.fromkeys(bullet.section for bullet in found.bullets):
        print_line(f"## {section}")
        for bullet in found.bullets:
            if bullet.section == section:
                print_line(f"- {_advice(bullet)}")


def _summary(found: Template) -> dict[str, object]:
    return {"name": found.name, "description": found.description, "count": len(found.bullets)}


def _advice(bullet: Add) -> str:
    return (AVOID if bullet.polarity == "anti_pattern" else "") + bullet.content
