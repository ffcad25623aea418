"""The command for hosts that reach no package index: bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perfproof.cli import options


def add(verbs: Any) -> None:
    bundle = options.verb(verbs, "bundle", _bundle, "pack the suite, a vLLM and what they need for a host that reaches no package index")
    bundle.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to pack into: empty, or not there yet")
    bundle.add_argument("--vllm", metavar="VERSION", help="the release of vllm to pack; without it the suite alone is packed")
    bundle.add_argument("--with", dest="needs", nargs="+", default=[], metavar="REQUIREMENT", help="what else to pack: 'lm-eval[api]'")
    bundle.add_argument("--smollm2", action="store_true", help="pack the real small model too (93 MB), which scenarios about answers ask")
    bundle.add_argument("--have", type=Path, metavar="FILE", help="the host's packages, as its pip freeze prints them; they are left out")
    bundle.add_argument("--carry", nargs="+", default=[], metavar="NAME", help="packages to pack though the host has them")
    bundle.add_argument("--python", default="3.12", metavar="VERSION", help="the host's Python (default %(default)s)")
    bundle.add_argument("--as-of", metavar="DATE", help="leave out what was uploaded later")
    bundle.add_argument("--part-mb", type=options.positive, metavar="N", help="in parts of at most so many megabytes")
    options.builds(bundle)


def _bundle(arguments: argparse.Namespace) -> int:
    from perfproof.builds import bundle, smollm
    from perfproof.builds.install.install_steps import Installer

    packed = bundle.Bundle(
        needs=(*([f"vllm=={arguments.vllm}"] if arguments.vllm else []), *arguments.needs),
        have=bundle.names_of(arguments.have) if arguments.have else frozenset(),
        carry=frozenset(map(bundle.name_of, arguments.carry)),
        alone=(smollm.PACKAGE, *smollm.TOOLS) if arguments.smollm2 else (),
        python=arguments.python,
        as_of=arguments.as_of,
        part_bytes=arguments.part_mb * 10**6 if arguments.part_mb else None,
    )
    arguments.builds.mkdir(parents=True, exist_ok=True)
    log = arguments.builds / "bundle.log"
    pins = bundle.make(packed, arguments.out, Installer(what="bundle", builds=arguments.builds, log=log, say=print, into=arguments.out))
    print(f"{len(pins)} packages and the suite are in {arguments.out}: move it to the host and run install.sh there")
    return 0
