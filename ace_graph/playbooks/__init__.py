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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
