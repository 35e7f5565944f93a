from .connection import (
    Login as Login,
    Neo4jConnection as Neo4jConnection,
    SCHEMA as SCHEMA,
    STATEMENTS as STATEMENTS,
    is_retryable as is_retryable,
    translated as translated,
)
from .graph import (
    BulletNode as BulletNode,
    changes_of as changes_of,
    graph_of as graph_of,
    people_of as people_of,
)
from .queries import (
    AttachedRow as AttachedRow,
    LOAD as LOAD,
    Reply as Reply,
)
from .rows import selection as selection
from .store import Neo4jPlaybooks as Neo4jPlaybooks, Neo4jStore as Neo4jStore
