#!/usr/bin/env python3
"""Runs the commands of the README's tour against `cargo local --demo`, and compares their answers with the README's.

Each `sh` block of the section "A tour" is followed by its answers: `json` has a document for each command; `http` has
the status line and some headers, and after an empty line the body. UUIDs and times may differ, and so may the order
of fields. With an address (http://localhost:7071/api), that app is used instead.
"""
import json, re, signal, subprocess, sys

UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# A step that waits for the change feed begins with `sleep`, and only reads: it may be repeated.
MAX_ATTEMPTS = 10


def masked(text):
    return TIME.sub("<time>", UUID.sub("<uuid>", text))


def documents(text):
    found, rest = [], masked(text).strip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].lstrip()
    return found


def is_shown(kind, shown, answered):
    if kind == "http":
        shown_head, _, shown = shown.partition("\n\n")
        head, _, answered = answered.partition("\n\n")
        if not set(masked(shown_head).splitlines()) <= set(masked(head).splitlines()):
            return False
    return documents(shown) == documents(answered)


def run(script):
    script = 'curl() { command curl -sS "$@"; echo; }\n' + script
    return subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True).stdout.replace("\r", "")


def tour(api):
    section = open("README.md").read().split("\n## A tour", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.S)
    steps = list(zip(blocks[::2], blocks[1::2]))
    assert len(steps) > 5 and len(blocks) % 2 == 0, "a command of the tour has no answer"
    for (language, script), (kind, shown) in steps:
        assert language == "sh" and kind in ("json", "http"), f"the README does not show what this answers:\n{script}"
        script = script.replace("localhost:7071/api", api.rstrip("/"))
        for _ in range(MAX_ATTEMPTS if script.startswith("sleep ") else 1):
            answered = run(script)
            if is_shown(kind, shown, answered):
                break
        else:
            sys.exit(f"The README shows after\n{script}\n{shown}\nand the answer is\n{answered}")
    print(f"{len(steps)} steps of the tour answer as the README shows")


if len(sys.argv) > 1:
    tour(sys.argv[1])
else:
    command = ["cargo", "local", "--demo", "--port", "0", "--cosmos-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as local:
        try:
            tour(json.loads(local.stdout.readline())["api"])
        finally:
            local.send_signal(signal.SIGINT)
