"""What vLLM's own benchmarks write: `vllm bench serve`, `latency`, `throughput`, `startup`, `mm-processor`, and the CSV of a sweep."""

from perfproof.importers.result_files.formats.vllm.latency import LATENCY
from perfproof.importers.result_files.formats.vllm.mm_processor import MM_PROCESSOR
from perfproof.importers.result_files.formats.vllm.serve import SERVE
from perfproof.importers.result_files.formats.vllm.startup import STARTUP
from perfproof.importers.result_files.formats.vllm.sweep_csv import SWEEP_CSV
from perfproof.importers.result_files.formats.vllm.throughput import THROUGHPUT

FORMATS = (SERVE, LATENCY, THROUGHPUT, STARTUP, MM_PROCESSOR, SWEEP_CSV)
