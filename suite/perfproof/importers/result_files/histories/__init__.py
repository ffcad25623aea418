"""Histories that other tools keep, a format a file, each recognised by its content: a file becomes points over builds.

`read` asks the formats in turn. What a point can't be made of is left out by name; what no tool writes is a fault.
"""

from perfproof.importers.result_files.histories.read import is_json, read

__all__ = ["is_json", "read"]
