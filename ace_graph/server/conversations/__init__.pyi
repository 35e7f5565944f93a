from .checkpointer import NO_CHECKPOINT as NO_CHECKPOINT, TurnCheckpointer as TurnCheckpointer
from .cleaning import (
    ConversationLimits as ConversationLimits,
    begin_cleaning as begin_cleaning,
    clean_conversations as clean_conversations,
    count_conversations as count_conversations,
)
from .database import ConversationDatabase as ConversationDatabase, Execute as Execute, SCHEMA as SCHEMA
from .open import (
    ConversationsCopied as ConversationsCopied,
    conversations_location as conversations_location,
    copy_conversations as copy_conversations,
    open_conversations as open_conversations,
    open_database as open_database,
)
from .postgres import PostgresConversations as PostgresConversations, open_postgres as open_postgres
from .repository import (
    AcceptedTurn as AcceptedTurn,
    Conversations as Conversations,
    LEASE_SECONDS as LEASE_SECONDS,
    MAX_PAGE_CHARS as MAX_PAGE_CHARS,
    UnsavedTurn as UnsavedTurn,
    export_chunks as export_chunks,
    is_gone as is_gone,
    new_owner as new_owner,
    page_of as page_of,
    title_of as title_of,
)
from .sqlite import (
    SQLiteConversations as SQLiteConversations,
    ThreadSaver as ThreadSaver,
    open_sqlite as open_sqlite,
)
