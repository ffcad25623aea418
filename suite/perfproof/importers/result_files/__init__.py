"""Result files of other benchmarks: a file becomes runs, one a trial.

`source` opens a file and refuses what is too large, no text, or JSON with a key twice. Each file of `formats` recognises one format by its
content, never by its name, and reads it; `fields` takes numbers and words out of it and collects every fault. `read` asks the formats in
turn; exactly one must recognise a file. Nothing here compares runs: `perfproof.analysis.sides` does.
"""

from perfproof.importers.result_files.read import read, read_side

__all__ = ["read", "read_side"]
