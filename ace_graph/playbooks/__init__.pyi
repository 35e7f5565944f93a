from .catalogue import (
    create as create,
    delete as delete,
    edit_fields as edit_fields,
    get_playbook as get_playbook,
    get_version as get_version,
    list_versions as list_versions,
    restore as restore,
    update as update,
    update_playbook as update_playbook,
)
from .content import Change as Change, Content as Content
from .directory import caller_of as caller_of, Directory as Directory
from .handle import (
    NamedPlaybook as NamedPlaybook,
    open_playbook as open_playbook,
    PlaybookHandle as PlaybookHandle,
)
from .listing import list_playbooks as list_playbooks
from .proposing import (
    accept as accept,
    collect as collect,
    Descendant as Descendant,
    descendants as descendants,
    own_proposals as own_proposals,
    proposals as proposals,
    propose as propose,
    refuse as refuse,
    withdraw as withdraw,
)
from .sharing import (
    add_to_team as add_to_team,
    Caller as Caller,
    grant as grant,
    Grant as Grant,
    grants as grants,
    leave as leave,
    Proposal as Proposal,
    remove_from_team as remove_from_team,
    revoke as revoke,
    Right as Right,
    shared_with as shared_with,
    SharedEntry as SharedEntry,
    show_use as show_use,
    Trust as Trust,
)
from .templates import Template as Template, template as template, TEMPLATES as TEMPLATES
from .versions import (
    keep_versions as keep_versions,
    observe_versions as observe_versions,
    version_number as version_number,
    VersionOutcome as VersionOutcome,
)
from .watching import watch as watch
from .worth import (
    audit as audit,
    figures_of as figures_of,
    PlaybookFigures as PlaybookFigures,
    read_worth as read_worth,
    ReaderUse as ReaderUse,
    Worth as Worth,
)
