from .database import Tables as Tables, Values as Values, insertion as insertion, selection as selection
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
)
from .state import of_playbooks as of_playbooks
