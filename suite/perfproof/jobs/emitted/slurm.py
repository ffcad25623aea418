"""A job array for `sbatch`: one task a job, one log a task; submitted again, whole jobs end at once and the others go on."""

from __future__ import annotations

import shlex

from perfproof.jobs.emitted.emission import Emission

LOGS = "logs"
"""The folder of the logs, beside the jobs' own."""


def script(emission: Emission) -> str:
    """The script; submit it where the paths of the plan hold, on a file system that all hosts share."""
    logs = shlex.quote(str(emission.results / LOGS))
    gpus = max(job.needs.gpus for job in emission.jobs)
    head = [
        "#!/bin/bash",
        "# A perfproof plan as a job array. Submitted again, it goes on from where jobs were killed: sbatch THIS_FILE",
        f"# When it has ended: {emission.merge} && {emission.judge}",
        "#SBATCH --job-name=perfproof",
        f"#SBATCH --array=0-{len(emission.jobs) - 1}",
        f"#SBATCH --time={max(job.needs.minutes for job in emission.jobs)}",
        "#SBATCH --nodes=1",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        "#SBATCH --output=/dev/null",
        *([f"#SBATCH --gpus={gpus}"] if gpus else []),
        *([f"#SBATCH --nodelist={','.join(emission.hosts)}"] if emission.hosts else []),
        *([f"#SBATCH --partition={emission.queue}"] if emission.queue else []),
        "set -o errexit -o nounset -o pipefail",
        f"mkdir --parents {logs}",
    ]
    tasks = [
        f"{number}) exec {shlex.join(job.command)} >> {logs}/{shlex.quote(job.name)}.log 2>&1 ;;"
        for number, job in enumerate(emission.jobs)
    ]
    return "\n".join([*head, 'case "$SLURM_ARRAY_TASK_ID" in', *tasks, '*) echo "no such task" >&2; exit 2 ;;', "esac", ""])
