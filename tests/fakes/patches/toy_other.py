from perfproof.patches.guard import Patch, Target

PATCH = Patch(
    name="toy_other",
    direction="adds",
    summary="was tested with another release",
    origin="tests",
    holds={"0.1.0": frozenset({"cpu"})},
    targets=(Target("vllm.v1.worker.batch", "Batch.swap", {}),),
)


def register():
    PATCH.apply({"Batch.swap": lambda self, first, second: (first, second)})
