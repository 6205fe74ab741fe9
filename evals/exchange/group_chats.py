"""Group chats that AutoGen and Microsoft Agent Framework saved, as transcripts; neither library is needed."""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...orchestration.reading.transcript_format import FORMAT, VERSION, SavedDeliberation, read_transcripts
from ...orchestration.transcript import Said, Stop, Transcript
from ...rubrics.errors import InvalidFile
from .import_format import ToolRecords, free_id, read_tool_json

_THREADS = ("conversation", "chat_history", "messages")
"""Under which of its keys Agent Framework keeps messages: of a group chat, of Magentic, of a session."""
_DEEPEST = 12
_UNNAMED = "unnamed"


class _Message(NamedTuple):
    who: str
    about: str
    text: str
    is_task: bool


def read_transcript_file(path: Path) -> ToolRecords:
    """The deliberations that `export --to transcript`, or another program, wrote."""
    return ToolRecords(deliberations=read_transcripts(path))


def read_autogen(path: Path) -> ToolRecords:
    """The chat in the state that a team's `save_state` returned, saved as JSON."""
    state = read_tool_json(path)
    agents = state.get("agent_states") if isinstance(state, Mapping) else None
    threads = [
        agent["message_thread"]
        for agent in (agents.values() if isinstance(agents, Mapping) else ())
        if isinstance(agent, Mapping) and isinstance(agent.get("message_thread"), list)
    ]
    if not threads:
        raise InvalidFile(
            f"{path}: this file does not hold the state of an AutoGen team",
            remedy="give a file with what `await team.save_state()` returned",
        )
    messages = [
        _Message(str(each.get("source") or _UNNAMED), str(each.get("type")), _autogen_text(each.get("content")), each.get("source") == "user")
        for each in threads[0]
        if isinstance(each, Mapping)
    ]  # fmt: skip
    return ToolRecords(deliberations=[_deliberation(path, path.stem, "autogen", messages)])


def read_agent_framework(path: Path) -> ToolRecords:
    """The chat in a workflow's checkpoint or a serialised session; of a folder of checkpoints, the last of each run.

    Checkpoints hold pickled messages. They are read without importing or calling anything that they name.
    """
    if not path.is_dir():
        return ToolRecords(deliberations=[_framework_chat(path, read_tool_json(path))])
    files = {file: read_tool_json(file) for file in sorted(path.glob("*.json"))}
    followed = {each.get("previous_checkpoint_id") for each in files.values() if isinstance(each, Mapping)}
    last = {file: each for file, each in files.items() if isinstance(each, Mapping) and each.get("checkpoint_id") not in followed}  # fmt: skip
    if not last:
        raise InvalidFile(
            f"{path}: this folder holds no checkpoint",
            remedy="name the folder that FileCheckpointStorage wrote to",
        )
    return ToolRecords(deliberations=[_framework_chat(file, each) for file, each in last.items()])


def _framework_chat(path: Path, document: Any) -> SavedDeliberation:
    threads = list(_threads(path, document, _DEEPEST))
    if not threads:
        raise InvalidFile(
            f"{path}: this file holds no chat of Agent Framework",
            remedy="give a checkpoint of a workflow, or a session saved with `to_dict`",
        )
    return _deliberation(path, path.stem, "agent-framework", max(threads, key=len))


def _threads(path: Path, node: Any, depth: int) -> Iterator[list[_Message]]:
    """Every list of messages in a document."""
    if depth and isinstance(node, Mapping):
        for key, value in node.items():
            if key in _THREADS and isinstance(value, list):
                messages = [_framework_message(path, each) for each in value]
                if messages and None not in messages:
                    yield [each for each in messages if each is not None]
            yield from _threads(path, value, depth - 1)
    elif depth and isinstance(node, list):
        for value in node:
            yield from _threads(path, value, depth - 1)


def _framework_message(path: Path, value: Any) -> _Message | None:
    fields = value
    if isinstance(value, Mapping) and "__pickled__" in value:
        fields = vars(_inert_message(path, value["__pickled__"]))
    if not isinstance(fields, Mapping) or "role" not in fields or not {"contents", "text"} & {*fields}:
        return None
    role = fields["role"]
    role = str(role.get("value") if isinstance(role, Mapping) else getattr(role, "value", role))
    parts = fields.get("contents") or [fields.get("text") or ""]
    words = [part if isinstance(part, str) else _content_text(part if isinstance(part, Mapping) else vars(part)) for part in parts]  # fmt: skip
    who = fields.get("author_name") or role
    return _Message(
        str(who), role, "\n".join(filter(None, words)), role == "user" and not fields.get("author_name")
    )


class _Inert:
    """Stands for an object of Agent Framework that was pickled: its attributes, and nothing that it could do."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


class _MessageUnpickler(pickle.Unpickler):
    """Reads objects of Agent Framework's classes as `_Inert`; any other name in a pickle is refused, so none is imported or called."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "agent_framework":
            return _Inert
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a message")


def _inert_message(path: Path, text: Any) -> _Inert:
    try:
        message = _MessageUnpickler(io.BytesIO(base64.b64decode(text, validate=True))).load()
    except Exception as error:  # A broken pickle raises whatever its bytes come upon.
        raise InvalidFile(
            f"{path}: a message cannot be read: {error}", remedy="save the chat again"
        ) from None
    if not isinstance(message, _Inert):
        raise InvalidFile(
            f"{path}: a part of the chat that should be a message is something else",
            remedy="save the chat again",
        )
    return message


def _content_text(part: Mapping[str, Any]) -> str:
    match part.get("type"):
        case "text" | "text_reasoning":
            return str(part.get("text") or "")
        case "function_call":
            return f"calls {part.get('name')}: {_plain_text(part.get('arguments'))}"
        case "function_result":
            return f"result: {_plain_text(part.get('result'))}"
        case "error":
            return f"error: {_plain_text(part.get('message'))}"
        case kind:
            return f"({kind}, not shown)"


def _autogen_text(content: Any) -> str:
    """A message's content: words, calls and results of tools, or an object."""
    if isinstance(content, list):
        return "\n".join(
            f"calls {each['name']}: {_plain_text(each.get('arguments'))}"
            if isinstance(each, Mapping) and "arguments" in each and "name" in each
            else f"result of {each.get('name')}: {_plain_text(each['content'])}"
            if isinstance(each, Mapping) and "content" in each
            else _plain_text(each)
            if isinstance(each, str)
            else "(a part, not shown)"
            for each in content
        )
    return _plain_text(content)


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _deliberation(path: Path, name: str, protocol: str, messages: Sequence[_Message]) -> SavedDeliberation:
    """The first message of the user, or else the first of all, is the case; every other one is an entry, its round the number of times its speaker has spoken."""
    with_words = [number for number, each in enumerate(messages) if each.text.strip()]
    at = next((number for number in with_words if messages[number].is_task), next(iter(with_words), None))
    spoken = [each for number, each in enumerate(messages) if number != at and each.text.strip()]
    if at is None or not spoken:
        missing = "task" if at is None else "answer to its task"
        raise InvalidFile(f"{path}: the chat has no {missing}", remedy="save the chat after the team has run")
    seats = _seats([each.who for each in spoken])
    rounds: Counter[str] = Counter()
    transcript = Transcript(
        case=name,
        arm=protocol,
        protocol=protocol,
        seats=tuple(dict.fromkeys(seats[each.who] for each in spoken if not each.is_task)),
        stop=Stop(reason="complete", detail=f"read from {path.name}"),
    )
    for each in spoken:
        who = seats[each.who]
        rounds[who] += 1
        saw = tuple(entry.id for entry in transcript.entries)
        said = Said(round=rounds[who], who=who, about=each.about, text=each.text, saw=saw)
        transcript = transcript.add([said])
    case = {"id": name, "output": messages[at].text}
    return SavedDeliberation(format=FORMAT, version=VERSION, case=case, transcript=transcript)


def _seats(speakers: Sequence[str]) -> dict[str, str]:
    """By speaker, a name that a seat may have; no two share one."""
    seats: dict[str, str] = {}
    for speaker in dict.fromkeys(speakers):
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", speaker).strip("-")
        name = plain if plain[:1].isalpha() else f"agent-{plain}".rstrip("-")
        seats[speaker] = free_id(name, set(seats.values()), mark="-")
    return seats
