from .files import (
    FileEdit as FileEdit,
    MemoryFile as MemoryFile,
    WHOLE as WHOLE,
    edit_of as edit_of,
    file_name as file_name,
    files_of as files_of,
    section_of as section_of,
)
from .markdown import (
    AgentsFormat as AgentsFormat,
    public_lessons as public_lessons,
    with_section as with_section,
)
from .reading import Document as Document, MAX_BULLETS as MAX_BULLETS, Reading as Reading
from .registry import (
    FORMATS as FORMATS,
    FormatName as FormatName,
    MAX_BYTES as MAX_BYTES,
    as_playbook as as_playbook,
    batches as batches,
    detected as detected,
    format_named as format_named,
    outcome_of as outcome_of,
    read_bullets as read_bullets,
    read_playbook as read_playbook,
    read_stream as read_stream,
    read_text as read_text,
)
from .skill import (
    MAX_ENTRIES as MAX_ENTRIES,
    SkillFormat as SkillFormat,
    as_skill_name as as_skill_name,
    checked_skill_folder as checked_skill_folder,
)
from .transcripts import (
    Exchange as Exchange,
    TRANSCRIPT_FORMATS as TRANSCRIPT_FORMATS,
    TranscriptFile as TranscriptFile,
    Unread as Unread,
)
