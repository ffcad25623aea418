"""What frameworks for microbenchmarks write: pytest-benchmark, pyperf, Google Benchmark, hyperfine, asv; github-action-benchmark; rows of
PyTorch's benchmark database.

Rounds, repetitions and loops of one process are never trials. A process is: each of pyperf's and of hyperfine's launches, and for the
others the whole file.
"""

from perfproof.importers.result_files.formats.frameworks.asv import ASV
from perfproof.importers.result_files.formats.frameworks.github_action import GITHUB_ACTION
from perfproof.importers.result_files.formats.frameworks.google_benchmark import GOOGLE_BENCHMARK
from perfproof.importers.result_files.formats.frameworks.hyperfine import HYPERFINE
from perfproof.importers.result_files.formats.frameworks.pyperf import PYPERF
from perfproof.importers.result_files.formats.frameworks.pytest_benchmark import PYTEST_BENCHMARK
from perfproof.importers.result_files.formats.frameworks.pytorch_hud import PYTORCH_HUD

FORMATS = (PYTEST_BENCHMARK, PYPERF, GOOGLE_BENCHMARK, HYPERFINE, ASV, GITHUB_ACTION, PYTORCH_HUD)
