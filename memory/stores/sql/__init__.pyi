from .database import (
    Namespace as Namespace,
    Row as Row,
    Tables as Tables,
    Values as Values,
    of_playbooks as of_playbooks,
)
from .history import turns_query as turns_query
from .postgres import (
    PostgresDatabase as PostgresDatabase,
    PostgresStore as PostgresStore,
    PostgresTables as PostgresTables,
    checked_address as checked_address,
    restored_text as restored_text,
    stored_text as stored_text,
)
from .schema import SCHEMA as SCHEMA, TABLES as TABLES, make_schema as make_schema
from .sqlite import (
    SQLiteDatabase as SQLiteDatabase,
    SQLiteStore as SQLiteStore,
    SQLiteTables as SQLiteTables,
    SQLiteThread as SQLiteThread,
    result_of as result_of,
)
from .state import HEAD_COLUMNS as HEAD_COLUMNS
from .store import SQLNamespace as SQLNamespace, SQLPlaybooks as SQLPlaybooks
