import json
from pathlib import Path
from types import SimpleNamespace


class EvaluationTracker:
    def __init__(self, output_path):
        self.folder = Path(output_path) / "model"
        self.general_config_tracker = SimpleNamespace(model_source="")

    def save_results_aggregated(self, results, samples):
        self.folder.mkdir(parents=True)
        (self.folder / "results_2026-11-28T01-02-03.4.json").write_text(json.dumps(results))

    def save_results_samples(self, task_name, samples):
        text = "".join(json.dumps(sample) + "\n" for sample in samples)
        (self.folder / f"samples_{task_name}_2026-11-28T01-02-03.4.jsonl").write_text(text)
