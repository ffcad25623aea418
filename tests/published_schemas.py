"""The published schemas of services that read what perfproof writes, as `check-jsonschema` carries them; nothing is fetched."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner


def refusal(schema: str, *files: Path | str) -> str:
    """What a schema finds wrong with the files; "" where they are right. In this process: its import takes a second of a core."""
    from check_jsonschema import main

    done = CliRunner().invoke(main, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    return "" if done.exit_code == 0 else done.output or repr(done.exception)
