"""Whether the simulated decisions are those that a real run would take."""

from __future__ import annotations

from perfproof.analysis.stats.alpha_spending import sequential
from perfproof.validation.simulated import noise, simulated_runs
from perfproof.validation.tables import BLOCKS, DELTA, MARGIN, Chapter, Target, source


def agreement(seed: int, runs: int) -> Chapter:
    """The same runs decided many at once, and one by one through pairing, verdicts and the stopping rule."""
    draw = source(seed, "agreement")
    count = max(runs // 20, 20)
    same, total = 0, 0
    for kind in (noise.GAUSSIAN, noise.KINDS[3]):
        for primaries in (1, 6):
            made = noise.trials(draw, kind, (count, primaries, BLOCKS), 0.02, 0.01)
            found = simulated_runs.fast(made.x, sequential(primaries), DELTA)
            for run in range(count):
                codes, blocks = simulated_runs.whole(
                    noise.Trials(baseline=made.baseline[run], candidate=made.candidate[run]), sequential(primaries), MARGIN
                )
                same += int(blocks == found.blocks[run] and bool((codes == found.codes[run]).all()))
                total += 1
    target = Target(
        promise="the tables above come from the rule that real runs go through",
        measured=f"{same:,} of {total:,} runs agree",
        met=same == total,
    )
    text = (
        "The tables decide thousands of runs at once. These were decided again block by block, as a real run is (observations, pairing, "
        f"`judge_all`, `should_stop`): {same:,} of {total:,} ended after the same number of blocks with the same verdicts."
    )
    return Chapter(title="The same path", text=text, targets=(target,))
