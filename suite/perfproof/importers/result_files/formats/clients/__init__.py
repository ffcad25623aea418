"""What load generators of other projects write: SGLang's bench_serving, GuideLLM, AIPerf and genai-perf."""

from perfproof.importers.result_files.formats.clients.aiperf import AIPERF
from perfproof.importers.result_files.formats.clients.aiperf_csv import AIPERF_CSV
from perfproof.importers.result_files.formats.clients.guidellm import GUIDELLM
from perfproof.importers.result_files.formats.clients.sglang import SGLANG

FORMATS = (SGLANG, GUIDELLM, AIPERF, AIPERF_CSV)
