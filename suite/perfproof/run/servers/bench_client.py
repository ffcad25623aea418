"""The client of a scenario: `vllm bench serve` of the baseline's build, which stays imported between trials.

The same client measures every arm, with the same explicit arguments except address and name. Before any server starts, the client's own
parser checks the scenario's flags; flags that the suite must set itself (where to send, how much, which seed, what to save) are refused.
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
"""Flags that the suite sets itself, or that would silently change what is measured."""

SEVERAL = frozenset(["goodput", "lora-modules", "metadata"])
"""Flags that take several values."""

DATASET = frozenset(["dataset-name", "dataset-path"])
"""Flags that the suite sets itself if it makes the data set."""

PACKED = "random-batch-size"
"""The flag that puts several inputs into one request, which the client then counts as one."""

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
"""Backends of pooling models, and how their endpoint must end; by default the client would ask for completions."""


class ClientEnded(Ended):
    """The client has ended during a trial."""


def client_faults(where: str, client: Mapping[str, str | int | float | bool], *, ours: frozenset[str] = OURS) -> list[str]:
    """Why a scenario can't set these flags, in full or abbreviated; empty if it can, as far as shows without the client's parser."""
    set_by_suite = {name: meant([f"--{name.replace('_', '-')}"], {f"--{each}" for each in ours}) for name in client}
    return [
        f"{where}.client.{name}: {_abbreviation(name, flags)}is set by the suite and can't be set here"
        for name, flags in set_by_suite.items()
        if flags
    ]


def _abbreviation(name: str, flags: Sequence[str]) -> str:
    """The full names that an abbreviated flag may stand for; "" for a full name."""
    return "" if flags == [f"--{name.replace('_', '-')}"] else f"short for {' or '.join(flags)}, which "


def meant(given: Iterable[str], names: Collection[str]) -> list[str]:
    """The names that a flag equals or abbreviates: vLLM's parsers also take the beginning of a name if it is unique."""
    exact = set(given) & set(names)
    short = {name for flag in set(given) - exact if flag != "--" for name in names if name.startswith(flag)}
    return sorted(exact | short)


def packed_faults(where: str, client: Mapping[str, str | int | float | bool]) -> list[str]:
    """A fault for the flag that makes the client count several inputs as one request."""
    return [
        f"{where}.client.{name}: several inputs in one request are not counted one by one; leave it at 1 (see 'max-concurrency')"
        for name, value in client.items()
        if meant([f"--{name.replace('_', '-')}"], {f"--{PACKED}"}) and value != 1
    ]


def endpoint_faults(where: str, client: Mapping[str, str | int | float | bool]) -> list[str]:
    """A fault for a pooling backend with an endpoint that it refuses; the client itself would only refuse it when it measures."""
    backend, endpoint = str(client.get("backend", "openai")), str(client.get("endpoint", "/v1/completions"))
    wanted = POOLING.get(backend, "")
    if endpoint.endswith(wanted):
        return []
    return [f"{where}.client.endpoint: backend {backend} needs one that ends with {wanted!r}, got {endpoint!r}"]


def flags(client: Mapping[str, str | int | float | bool]) -> list[str]:
    """The scenario's flags as arguments: true gives the bare flag, false leaves it out; several values are split at blanks."""
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
    """The scenario's flags with the suite's defaults.

    Temperature and the ignored end of sequence are always set where text is generated: otherwise the server's own defaults would decide,
    and they differ between versions. The suite's own data set is sent without a chat template.
    """
    sampled = {"temperature": 0, "ignore-eos": True} if client.get("backend", "openai") in SAMPLING else {}
    flags_sent: dict[str, str | int | float | bool] = {**sampled, **client}
    if dataset is None:
        return flags_sent
    drawn = {"custom-output-len": -1} if dataset.output_tokens else {}
    return {"skip-chat-template": True, **flags_sent, **drawn, "dataset-name": "custom", "dataset-path": str(file)}


def arguments_for(
    workload: ServeWorkload, arm: Arm, *, model: str, url: str, name: str, seed: int, result: Path, dataset: Path | None = None
) -> list[str]:
    """The whole argument list of one measured run.

    `seed` is the block's: the same for its arms, different in every block. `dataset` is the file of the scenario's own data set.
    """
    flags_sent = spoken({**workload.client, **arm.client}, workload.dataset, dataset)
    pooling = flags_sent.get("backend") in POOLING
    return [
        *flags(flags_sent),
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
    """The client's process. The first use waits until it is ready; a dead client is not restarted: make another."""

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
        """Waits until it is ready; returns the seconds of its imports. Raises `CannotRun` if they failed."""
        if self.import_seconds is None:
            answer = self._receive(IMPORT_TIMEOUT)
            if answer is None:
                raise CannotRun(f"{self.build.label}: the client was not ready after {IMPORT_TIMEOUT:.0f} s; {self.log_end()}")
            self.import_seconds = float(answer["seconds"])
        return self.import_seconds

    def fault(self, arguments: list[str], bench: str = "serve") -> str:
        """Why `vllm bench serve` (or another) of this build does not take the arguments, in its parser's words; "" if it does."""
        return self._refused(f"vllm bench {bench}", "check", arguments, bench)

    def server_fault(self, arguments: list[str]) -> str:
        """Why `vllm serve` of this build does not take the arguments, in its parser's words; "" if it does, or its parser is not found."""
        return self._refused("vllm serve", "check server", arguments)

    def _refused(self, command: str, what: str, arguments: list[str], bench: str = "serve") -> str:
        answer = self._ask(what, arguments, bench)
        return "" if answer["ok"] else f"'{command}' of {self.build.label} refuses it: {answer['fault']}"

    def _ask(self, what: str, arguments: list[str], bench: str = "serve") -> dict[str, Any]:
        """The answer to a quick request."""
        self.wait_ready()
        self._send(what, arguments, bench)
        answer = self._receive(CHECK_TIMEOUT)
        if answer is None:
            raise CannotRun(f"{self.build.label}: the client did not answer within {CHECK_TIMEOUT:.0f} s; {self.log_end()}")
        return answer

    def measure(self, arguments: list[str], *, timeout: float, watch: Callable[[], None], every: float = 0.5) -> dict[str, Any]:
        """Runs `vllm bench serve` once; returns its answer, `{"ok", "fault" or "seconds" and "cpu_seconds"}`.

        `watch` is called every so many seconds and may raise. Raises `ClientEnded` if the client ends or takes longer than `timeout`.
        """
        self.wait_ready()
        deadline = time.monotonic() + timeout
        self._busy = True
        self._send("run", arguments)
        while time.monotonic() < deadline:
            answer = self._receive(every)
            if answer is not None:
                self._busy = False
                return answer
            watch()
        raise ClientEnded(f"the client had not ended after {timeout:.0f} s: set fewer 'requests' or shorter outputs; {self.log_end()}")

    def idle(self, timeout: float) -> bool:
        """Whether it has ended an abandoned run, or does so within `timeout` seconds; the answer of that run is dropped."""
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
        """The last lines of its log."""
        return f"the end of its log:\n{last_words(tail(self.running.log))}"

    def close(self) -> None:
        self._channel.close()
        self.running.stop(grace=2.0)


def client_environment(build: ReadyBuild, *, offline: bool) -> dict[str, str]:
    """No plugin, one thread, and no proxy between client and server."""
    plain = build_environment(build, threads=1, hub=not offline)
    near = ",".join(filter(None, [plain.get("no_proxy") or plain.get("NO_PROXY"), "127.0.0.1", "localhost"]))
    return {**plain, "VLLM_PLUGINS": "", "no_proxy": near, "NO_PROXY": near, **({"HF_HUB_OFFLINE": "1"} if offline else {})}
