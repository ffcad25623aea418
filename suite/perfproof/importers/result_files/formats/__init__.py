"""One format a file, each recognised by its content. None knows another; `FORMATS` lists them all."""

from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.formats.vllm_serve import VLLM_SERVE

FORMATS: tuple[Format, ...] = (VLLM_SERVE,)
