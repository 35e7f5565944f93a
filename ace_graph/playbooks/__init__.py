"""Named playbooks: create, read, change and delete them, list their versions and go back (document 004, P2).

    from ace_graph import open_store, playbooks

    async with open_store() as store:
        playbook_id = await playbooks.create(store, "api_client", ["Send the key in a header"], owner="ada")
        await playbooks.update_playbook(store, ["Retry after 429"], "api_client", owner="ada")
        for version in await playbooks.list_versions(store, "api_client", owner="ada"):
            print(version.label, version.at, version.reason)

A playbook belongs to an owner, a learner, or to the host application where no owner is named. The name
`default` is the owner's own memory: it is there from the first thing learned, and can't be created or
deleted.
Others read it once it is shared with them (`grant`), as `owner/name`.
A graph run reads a named playbook when `ACEContext.playbooks` names it, and its lessons go to the one that
`learn_into` names, as far as the learner may write or propose there.
"""

from __future__ import annotations

from ace_graph.memory.rights import Caller, Right
from ace_graph.memory.sharing import Grant, Proposal, Trust
from ace_graph.playbooks.catalogue import (
    create,
    delete,
    edit_fields,
    get_playbook,
    get_version,
    list_playbooks,
    list_versions,
    restore,
    update,
    update_playbook,
)
from ace_graph.playbooks.content import Change, Content
from ace_graph.playbooks.directory import Directory, caller_of
from ace_graph.playbooks.handle import NamedPlaybook, PlaybookHandle, open_playbook
from ace_graph.playbooks.proposals import (
    Descendant,
    accept,
    collect,
    descendants,
    own_proposals,
    proposals,
    propose,
    refuse,
    withdraw,
)
from ace_graph.playbooks.sharing import (
    SharedEntry,
    add_to_team,
    grant,
    grants,
    leave,
    remove_from_team,
    revoke,
    shared_with,
    show_use,
)
from ace_graph.playbooks.templates import TEMPLATES, Template, template
from ace_graph.playbooks.versions import VersionOutcome, keep_versions, observe_versions, version_number
from ace_graph.playbooks.watch import watch
from ace_graph.playbooks.worth import PlaybookFigures, ReaderUse, Worth, audit, figures_of, read_worth

__all__ = [
    "TEMPLATES",
    "Caller",
    "Change",
    "Content",
    "Descendant",
    "Directory",
    "Grant",
    "NamedPlaybook",
    "PlaybookFigures",
    "PlaybookHandle",
    "Proposal",
    "ReaderUse",
    "Right",
    "SharedEntry",
    "Template",
    "Trust",
    "VersionOutcome",
    "Worth",
    "accept",
    "add_to_team",
    "audit",
    "caller_of",
    "collect",
    "create",
    "delete",
    "descendants",
    "edit_fields",
    "figures_of",
    "get_playbook",
    "get_version",
    "grant",
    "grants",
    "keep_versions",
    "leave",
    "list_playbooks",
    "list_versions",
    "observe_versions",
    "open_playbook",
    "own_proposals",
    "proposals",
    "propose",
    "read_worth",
    "refuse",
    "remove_from_team",
    "restore",
    "revoke",
    "shared_with",
    "show_use",
    "template",
    "update",
    "update_playbook",
    "version_number",
    "watch",
    "withdraw",
]
