"""A stand-in for `vllm bench serve`: the same flags and the same file, one request after the other."""

import json
import os
import random
import signal
import time
import urllib.error
import urllib.request
from types import SimpleNamespace


def add_cli_args(parser):
    for name in ("backend", "base-url", "model", "served-model-name", "dataset-name", "result-dir", "result-filename"):
        parser.add_argument(f"--{name}")
    for name in ("percentile-metrics", "metric-percentiles", "fake"):
        parser.add_argument(f"--{name}", default="")
    for name in ("num-prompts", "num-warmups", "random-input-len", "random-output-len", "seed", "max-concurrency"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("temperature", "presence-penalty", "random-range-ratio"):
        parser.add_argument(f"--{name}", type=float)
    for name in ("ignore-eos", "save-result", "save-detailed", "disable-tqdm"):
        parser.add_argument(f"--{name}", action="store_true")


def get_samples(args, tokenizer):
    """A request each, its length drawn around `--random-output-len`."""
    drawn, length = random.Random(args.seed), args.random_output_len
    spread = int(length * (args.random_range_ratio or 0))
    return [SimpleNamespace(expected_output_len=drawn.randint(length - spread, length + spread)) for _ in range(args.num_prompts)]


def ask(args, number, length):
    body = json.dumps({"prompt": f"{args.seed}/{number}", "max_tokens": length}).encode()
    request = urllib.request.Request(f"{args.base_url}/v1/completions", body, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began = time.perf_counter()
    try:
        with opener.open(request) as answer:
            return time.perf_counter() - began, json.loads(answer.read())["tokens"], ""
    except OSError as error:
        return time.perf_counter() - began, 0, f"Traceback\n{error}"


def main(args):
    if args.fake == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if args.fake == "no result":
        return
    if args.fake == "raise":
        raise ValueError("the dataset is empty")
    asked = [sample.expected_output_len for sample in get_samples(args, None)]
    for _ in range(args.num_warmups):
        ask(args, 0, asked[0])
    began = time.perf_counter()
    answers = [ask(args, number, length) for number, length in enumerate(asked)]
    duration = time.perf_counter() - began
    good = [answer for answer in answers if not answer[2]]
    tokens = sum(answer[1] for answer in good)
    said = {
        "duration": duration,
        "completed": len(good),
        "failed": len(answers) - len(good),
        "total_input_tokens": 4 * len(good),
        "total_output_tokens": tokens,
        "output_throughput": tokens / duration,
        "request_throughput": len(good) / duration,
        "total_token_throughput": (tokens + 4 * len(good)) / duration,
        "request_goodput": None,
        "output_lens": [answer[1] for answer in answers],
        "ttfts": [answer[0] for answer in answers],
        "itls": [[0.001] * max(0, answer[1] - 1) for answer in answers],
        "errors": [answer[2] for answer in answers],
        "seed": args.seed,
        "temperature": args.temperature,
        "ignore_eos": args.ignore_eos,
    }
    for short in ("ttft", "tpot", "itl", "e2el"):
        for statistic in ("mean", "median", "p50", "p90", "p95", "p99"):
            said[f"{statistic}_{short}_ms"] = 2.0
    with open(os.path.join(args.result_dir, args.result_filename), "w") as file:
        json.dump({} if args.fake == "other file" else said, file)
