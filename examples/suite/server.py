"""Two toy systems behind an OpenAI-compatible address: `lead` repeats what was said first, `coin` answers by a hash.

They stand for models on your own machine, and show what a board says of systems that do not read:

    python examples/suite/server.py
"""

from __future__ import annotations

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS = ("127.0.0.1", 8910)
SPEAKER = re.compile(r"^(\[\w+\]|\w+:)")
CHOICES = {"yes, no or maybe": ("yes", "no", "maybe"), "error if it has an error": ("error", "correct")}


def answer(model: str, prompt: str) -> str:
    """What the toy says: a choice where the prompt offers some, else the beginning of the conversation."""
    number = int(hashlib.sha256(prompt.encode()).hexdigest(), 16)
    for words, choices in CHOICES.items():
        if words in prompt:
            return choices[number % len(choices)] if model == "coin" else choices[0]
    if model == "coin":
        return "Follow up as needed."
    said = [SPEAKER.sub("", line).strip() for line in prompt.partition("Conversation:")[2].splitlines()]
    return " ".join(line for line in said if line)[:400]


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions, and lists its models."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": name, "object": "model"} for name in ("lead", "coin")]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][-1]["content"]
        text = answer(asked["model"], prompt)
        usage = {"prompt_tokens": max(1, len(prompt) // 4), "completion_tokens": max(1, len(text) // 4)}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": text}
        self._send(
            {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
        )  # fmt: skip

    def _send(self, body: dict[str, object]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *arguments: object) -> None:
        return


if __name__ == "__main__":
    print(f"http://{ADDRESS[0]}:{ADDRESS[1]}/v1 (Ctrl-C ends it)", flush=True)
    ThreadingHTTPServer(ADDRESS, Handler).serve_forever()
