"""The one client of a scenario: `vllm bench serve` of the baseline's build, kept imported between trials.

Every arm is measured by the same client, with the same explicit arguments but for address and name. What a
scenario may say of the client is validated by the client's own parser before any server starts; what the suite must
decide itself (where to send, how much, which seed, what to save) is refused there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.kinds.serve import ServeWorkload
from perfproof.model.scenarios.scenario import Arm, Dataset
from perfproof.run.processes.trial_process import Channel, Ended, Running, build_environment, start, tail
from perfproof.run.servers.log_diagnosis import last_words

IMPORT_TIMEOUT = 600.0
CHECK_TIMEOUT = 60.0

OURS = frozenset(
    [
        *("host", "port", "base-url", "model", "served-model-name", "tokenizer", "header", "insecure"),
        *("num-prompts", "num-warmups", "seed", "ready-check-timeout-sec", "profile", "disable-tqdm"),
        *("save-result", "save-detailed", "append-result", "result-dir", "result-filename"),
        *("percentile-metrics", "metric-percentiles"),
    ]
)
"""Flags that the suite sets itself, or that would change what is measured behind its back."""

SEVERAL = frozenset(["goodput", "lora-modules", "metadata"])
"""Flags that take several values."""

DATASET = frozenset(["dataset-name", "dataset-path"])
"""Flags that the suite sets itself where it makes the data set."""

PACKED = "random-batch-size"
"""The flag that puts several inputs into one request, of which the client then counts one."""

SAMPLING = frozenset(["openai", "vllm", "openai-chat"])
"""Backends that take sampling parameters; the others refuse them."""

POOLING: Mapping[str, str] = {
    "openai-embeddings": "embeddings",
    "openai-embeddings-chat": "embeddings",
    "openai-embeddings-clip": "embeddings",
    "openai-embeddings-vlm2vec": "embeddings",
    "infinity-embeddings": "embeddings",
    "infinity-embeddings-clip": "embeddings",
    "vllm-pooling": "pooling",
    "vllm-rerank": "rerank",
}
"""Backends of models that pool, and what their endpoint must end with; unsaid, the client would ask for completions."""


class ClientEnded(Ended):
    """The client has ended in the midst of a trial."""


def client_faults(where: str, client: Mapping[str, str | int | float | bool], *, ours: frozenset[str] = OURS) -> list[str]:
    """Why these flags can't be a scenario's, whole or cut short; empty if they can, as far as is seen without the client's parser."""
    found = {name: meant([f"--{name.replace('_', '-')}"], {f"--{each}" for each in ours}) for name in client}
    return [
        f"{where}.client.{name}: {_said(name, flags)}is set by the suite and can't be set here" for name, flags in found.items() if flags
    ]


def _said(name: str, flags: Sequence[str]) -> str:
    """What a flag that is cut short may be short for; "" for a whole one."""
    return "" if flags == [f"--{name.replace('_', '-')}"] else f"short for {' or '.join(flags)}, which "


def meant(given: Iterable[str], names: Collection[str]) -> list[str]:
    """Those of the names that a flag is or is short for: vLLM's parsers take the beginning of a name, too, where it is no other's."""
    exact = set(given) & set(names)
    short = {name for flag in set(given) - exact if flag != "--" for name in names if name.startswith(flag)}
    return sorted(exact | short)


def packed_faults(where: str, client: Mapping[str, str | int | float | bool]) -> list[str]:
    """A flag that would have the client count one request where it sends several inputs."""
    return [
        f"{where}.client.{name}: several inputs in one request are not counted one by one; leave it at 1 (see 'max-concurrency')"
        for name, value in client.items()
        if meant([f"--{name.replace('_', '-')}"], {f"--{PACKED}"}) and value != 1
    ]


def endpoint_faults(where: str, client: Mapping[str, str | int | float | bool]) -> list[str]:
    """A pooling backend and the endpoint that it refuses, which it would only say when it measures."""
    backend, endpoint = str(client.get("backend", "openai")), str(client.get("endpoint", "/v1/completions"))
    wanted = POOLING.get(backend, "")
    if endpoint.endswith(wanted):
        return []
    return [f"{where}.client.endpoint: backend {backend} needs one that ends with {wanted!r}, got {endpoint!r}"]


def flags(client: Mapping[str, str | int | float | bool]) -> list[str]:
    """The scenario's flags as arguments: true is the bare flag, false leaves it out; several values are split at blanks."""
    words: list[str] = []
    for name, value in client.items():
        if value is False:
            continue
        if name in SEVERAL:
            words += [f"--{name}", *str(value).split()]
        else:
            words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words


def spoken(
    client: Mapping[str, str | int | float | bool], dataset: Dataset | None, file: Path | None
) -> dict[str, str | int | float | bool]:
    """The scenario's flags with what is said unasked.

    Temperature and the ignored end of sequence are always said where text is generated: unsaid, the server's own defaults would
    decide, and they differ between versions. A data set of the suite's is sent as it stands, without a chat template.
    """
    sampled = {"temperature": 0, "ignore-eos": True} if client.get("backend", "openai") in SAMPLING else {}
    said: dict[str, str | int | float | bool] = {**sampled, **client}
    if dataset is None:
        return said
    drawn = {"custom-output-len": -1} if dataset.output_tokens else {}
    return {"skip-chat-template": True, **said, **drawn, "dataset-name": "custom", "dataset-path": str(file)}


def arguments_for(
    workload: ServeWorkload, arm: Arm, *, model: str, url: str, name: str, seed: int, result: Path, dataset: Path | None = None
) -> list[str]:
    """The whole argument list of one measured run.

    `seed` is the block's: the same for its arms, another in every block. `dataset` is the file of the scenario's own data set.
    """
    said = spoken({**workload.client, **arm.client}, workload.dataset, dataset)
    pooling = said.get("backend") in POOLING
    return [
        *flags(said),
        f"--base-url={url}",
        f"--model={model}",
        f"--served-model-name={name}",
        f"--num-prompts={workload.requests}",
        f"--num-warmups={workload.warmups}",
        f"--seed={seed}",
        f"--percentile-metrics={'e2el' if pooling else 'ttft,tpot,itl,e2el'}",
        "--metric-percentiles=50,90,95,99",
        "--save-result",
        "--save-detailed",
        f"--result-dir={result.parent}",
        f"--result-filename={result.name}",
        "--disable-tqdm",
    ]


class Client:
    """The client's process. Made ready by the first use; a dead one is not revived, make another."""

    def __init__(self, build: ReadyBuild, *, log: Path, folder: Path, offline: bool) -> None:
        self.build = build
        self._channel = Channel()
        self.running: Running = start(
            [build.interpreter, build.child / "client.py"],
            environment=client_environment(build, offline=offline),
            log=log,
            folder=folder,
            grace=2.0,
            channel=self._channel,
        )
        self.import_seconds: float | None = None
        self._busy = False

    @property
    def alive(self) -> bool:
        return self.running.poll() is None

    def wait_ready(self) -> float:
        """Seconds that its imports took. Raises `CannotRun` if they failed."""
        if self.import_seconds is None:
            said = self._receive(IMPORT_TIMEOUT)
            if said is None:
                raise CannotRun(f"{self.build.label}: the client was not ready after {IMPORT_TIMEOUT:.0f} s; {self.log_end()}")
            self.import_seconds = float(said["seconds"])
        return self.import_seconds

    def fault(self, arguments: list[str], bench: str = "serve") -> str:
        """Why `vllm bench serve` (or another) of this build does not take the arguments, in its parser's words; "" if it does."""
        return self._refused(f"vllm bench {bench}", "check", arguments, bench)

    def server_fault(self, arguments: list[str]) -> str:
        """Why `vllm serve` of this build does not take the arguments, in its parser's words; "" if it does, or its parser is not found."""
        return self._refused("vllm serve", "check server", arguments)

    def _refused(self, command: str, what: str, arguments: list[str], bench: str = "serve") -> str:
        said = self._ask(what, arguments, bench)
        return "" if said["ok"] else f"'{command}' of {self.build.label} refuses it: {said['fault']}"

    def _ask(self, what: str, arguments: list[str], bench: str = "serve") -> dict[str, Any]:
        """The answer to what takes no time."""
        self.wait_ready()
        self._send(what, arguments, bench)
        said = self._receive(CHECK_TIMEOUT)
        if said is None:
            raise CannotRun(f"{self.build.label}: the client did not answer within {CHECK_TIMEOUT:.0f} s; {self.log_end()}")
        return said

    def measure(self, arguments: list[str], *, timeout: float, watch: Callable[[], None], every: float = 0.5) -> dict[str, Any]:
        """One `vllm bench serve`: its answer, `{"ok", "fault" or "seconds" and "cpu_seconds"}`.

        `watch` is called every so many seconds and may raise. Raises `ClientEnded` if the client ends or takes longer than `timeout`.
        """
        self.wait_ready()
        deadline = time.monotonic() + timeout
        self._busy = True
        self._send("run", arguments)
        while time.monotonic() < deadline:
            said = self._receive(every)
            if said is not None:
                self._busy = False
                return said
            watch()
        raise ClientEnded(f"the client was not done after {timeout:.0f} s: ask for fewer 'requests' or shorter outputs; {self.log_end()}")

    def idle(self, timeout: float) -> bool:
        """Whether it is done with a run that was given up, or is so within `timeout` seconds: what it then answers is nobody's."""
        if self._busy and self._receive(timeout) is not None:
            self._busy = False
        return not self._busy

    def _send(self, what: str, arguments: list[str], bench: str = "serve") -> None:
        try:
            self._channel.send({"do": what, "bench": bench, "arguments": arguments})
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self, timeout: float) -> dict[str, Any] | None:
        try:
            return self._channel.receive(timeout)
        except EOFError:
            raise self._ended() from None

    def _ended(self) -> ClientEnded:
        code = self.running.wait(10.0)
        how = self.running.finished().how()
        return ClientEnded(f"the client {how}; {self.log_end()}", killed=code == -9)

    def log_end(self) -> str:
        """The last words of its log."""
        return f"the end of its log:\n{last_words(tail(self.running.log))}"

    def close(self) -> None:
        self._channel.close()
        self.running.stop(grace=2.0)


def client_environment(build: ReadyBuild, *, offline: bool) -> dict[str, str]:
    """No plugin, one thread, and no proxy between client and server."""
    plain = build_environment(build, threads=1, hub=not offline)
    near = ",".join(filter(None, [plain.get("no_proxy") or plain.get("NO_PROXY"), "127.0.0.1", "localhost"]))
    return {**plain, "VLLM_PLUGINS": "", "no_proxy": near, "NO_PROXY": near, **({"HF_HUB_OFFLINE": "1"} if offline else {})}
