"""One format a file; none knows another. `FORMATS` lists them all."""

from perfproof.export.format import Format
from perfproof.export.formats.checklist import CHECKLIST
from perfproof.export.formats.github_action import GITHUB_ACTION
from perfproof.export.formats.openmetrics import OPENMETRICS
from perfproof.export.formats.parquet import PARQUET
from perfproof.export.formats.perf_eval import PERF_EVAL
from perfproof.export.formats.pytest_benchmark import PYTEST_BENCHMARK
from perfproof.export.formats.pytorch_hud import PYTORCH_HUD
from perfproof.export.formats.trials_csv import TRIALS_CSV

FORMATS: tuple[Format, ...] = (
    TRIALS_CSV,
    PARQUET,
    GITHUB_ACTION,
    PYTORCH_HUD,
    OPENMETRICS,
    PERF_EVAL,
    PYTEST_BENCHMARK,
    CHECKLIST,
)
