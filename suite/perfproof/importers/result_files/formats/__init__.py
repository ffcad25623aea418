"""One format a file, each recognised by its content; `FORMATS` lists them all.

`vllm/` holds what vLLM's own benchmarks write, `clients/` what other load generators write, `frameworks/` what frameworks for
microbenchmarks write. No room and no file beside them knows another.
"""

from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.formats import clients, frameworks, vllm

FORMATS: tuple[Format, ...] = (*vllm.FORMATS, *clients.FORMATS, *frameworks.FORMATS)
