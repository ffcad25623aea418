"""A stand-in for docker and podman: keeps a journal of its command lines, and runs an image's Python on this machine.

`$RUNTIME_FAKE` is its folder: `journal.jsonl` has the words of each call, `images.json` maps names to digests and environments,
`containers/NAME` the number of each container's first process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

FOLDER = Path(os.environ["RUNTIME_FAKE"])
CONTAINERS = FOLDER / "containers"


def inspect_image(name: str) -> int:
    images = json.loads((FOLDER / "images.json").read_text())
    found = images.get(name) or next((image for image in images.values() if image["Id"].endswith(name)), None)
    if found is None:
        sys.stderr.write(f"Error: {name}: image not known\n")
        return 125
    print(json.dumps([found]))
    return 0


def run(words: list[str]) -> int:
    """Runs `--entrypoint` with what stands behind the image; the environment is that of `--env`, and a little of ours."""
    options = [word for word in words if word.startswith("--")]
    image = next(place for place, word in enumerate(words) if not word.startswith("--"))
    value = {word.partition("=")[0]: word.partition("=")[2] for word in options}
    environment = {"PATH": os.environ["PATH"]}
    for name, equals, given in (word.removeprefix("--env=").partition("=") for word in options if word.startswith("--env=")):
        environment[name] = given if equals else os.environ[name]
    inside = [value["--entrypoint"], *words[image + 1 :]]
    pid = os.fork()
    if not pid:
        os.setsid()
        os.chdir(value["--workdir"])
        os.execvpe(inside[0], inside, environment)
    CONTAINERS.mkdir(exist_ok=True)
    (CONTAINERS / value["--name"]).write_text(f"{pid} {value['--label'].partition('=')[2]}")
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(pid, number))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    (CONTAINERS / value["--name"]).unlink(missing_ok=True)
    return code if code >= 0 else 128 - code


def remove(names: list[str]) -> int:
    for name in names:
        file = CONTAINERS / name
        if file.exists():
            os.killpg(int(file.read_text().split()[0]), signal.SIGKILL)
            file.unlink(missing_ok=True)
    return 0


def main(words: list[str]) -> int:
    with open(FOLDER / "journal.jsonl", "a") as journal:
        journal.write(json.dumps(words) + "\n")
    if words[:2] == ["image", "inspect"]:
        return inspect_image(words[2])
    if words[0] == "run":
        return run(words[1:])
    if words[0] == "rm":
        return remove([word for word in words[1:] if not word.startswith("--")])
    if words[0] == "inspect":
        file = CONTAINERS / words[-1]
        print(file.read_text().split()[0] if file.exists() else 0)
        return 0
    if words[0] == "ps":
        files = CONTAINERS.iterdir() if CONTAINERS.is_dir() else ()
        print("\n".join(f"{file.name} {file.read_text().split()[1]}" for file in files))
        return 0
    return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
