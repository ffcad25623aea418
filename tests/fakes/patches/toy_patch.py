from perfproof.patches.guard import Patch, Target

SOURCES = {"0.32.0": "@HASH@"}
PATCH = Patch(
    name="toy_patch",
    direction="adds",
    summary="swaps nothing",
    origin="tests",
    holds={"0.32.0": frozenset({"cpu"})},
    targets=(Target("vllm.v1.worker.batch", "Batch.swap", SOURCES),),
)


def register():
    PATCH.apply({"Batch.swap": lambda self, first, second: (first, second)})
