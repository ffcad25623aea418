"""A Slurm cluster on this machine, of Debian's packages slurm-wlm and munge: a controller and two nodes, all in one folder, gone with the
test."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
PATIENCE = 30.0
SBIN = "/usr/sbin:/sbin"


def lacking() -> str:
    """Why no cluster can be started here; "" if one can."""
    path = f"{os.environ.get('PATH', '')}:{SBIN}"
    if missing := [name for name in NEEDED if shutil.which(name, path=path) is None]:
        return f"Slurm is not installed ({', '.join(missing)} not found): apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "a slurmd must run as root to start jobs"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; its commands want `environment`."""

    folder: Path
    environment: dict[str, str]

    def call(self, *words: str) -> str:
        return subprocess.run(words, env=self.environment, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def started(self) -> bool:
        with contextlib.suppress(subprocess.SubprocessError):
            return self.call("sinfo", "--noheader", "--format=%T %D").split() == ["idle", "2"]
        return False


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Starts the daemons in the foreground, as our children, and ends them again."""
    host = socket.gethostname()
    ports = _free_ports(3)
    for name in ("state", "node1", "node2"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    config = folder / "slurm.conf"
    config.write_text(
        "\n".join(
            [
                "ClusterName=perfproof",
                f"SlurmctldHost={host}(127.0.0.1)",
                f"SlurmctldPort={ports[0]}",
                "SlurmUser=root",
                "AuthType=auth/munge",
                f"AuthInfo=socket={folder}/munge.socket",
                "CredType=cred/munge",
                f"StateSaveLocation={folder}/state",
                f"SlurmdSpoolDir={folder}/%n",
                f"SlurmctldPidFile={folder}/slurmctld.pid",
                f"SlurmdPidFile={folder}/%n.pid",
                f"SlurmctldLogFile={folder}/slurmctld.log",
                f"SlurmdLogFile={folder}/%n.log",
                "ProctrackType=proctrack/linuxproc",
                "TaskPlugin=task/none",
                "SelectType=select/linear",
                "JobAcctGatherType=jobacct_gather/none",
                "AccountingStorageType=accounting_storage/none",
                "MpiDefault=none",
                "ReturnToService=2",
                "SchedulerParameters=sched_interval=2,batch_sched_delay=0",
                "MinJobAge=10",
                *(f"NodeName=node{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]} CPUs=1" for number in (1, 2)),
                "PartitionName=all Nodes=node1,node2 Default=YES State=UP",
                "",
            ]
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(config), "PATH": f"{os.environ['PATH']}:{SBIN}"}
    munged = [
        "munged",
        "--foreground",
        "--force",
        f"--socket={folder}/munge.socket",
        f"--key-file={key}",
        f"--pid-file={folder}/munged.pid",
    ]
    munged += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for words in (
            munged,
            ["slurmctld", "-D", "-f", str(config)],
            *(["slurmd", "-D", "-f", str(config), "-N", f"node{n}"] for n in (1, 2)),
        ):
            running.append(_start(words, environment, folder))
            _wait((folder / "munge.socket").exists)
        found = Cluster(folder, environment)
        _wait(found.started)
        yield found
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _start(words: Sequence[str], environment: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    program = shutil.which(words[0], path=environment["PATH"]) or words[0]
    with open(folder / "daemons.log", "ab") as log:
        return subprocess.Popen([program, *words[1:]], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _wait(done: object) -> None:
    end = time.monotonic() + PATIENCE
    while not done():  # type: ignore[operator]
        if time.monotonic() > end:
            raise TimeoutError("the cluster did not start")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in taken]
