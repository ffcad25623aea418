"""A stand-in for `vllm serve` and `vllm bench latency`: one process, whose model says the same word again and again.

`--fake` makes it misbehave.
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch  # noqa: F401  (vLLM has it before it loads its plugins)

from vllm.entrypoints.cli.serve import add_arguments
from vllm.plugins import load_general_plugins


def arguments():
    parser = argparse.ArgumentParser(prog="vllm")
    parser.add_argument("command")
    add_arguments(parser)
    return parser.parse_args()


def bench(words):
    """`vllm bench latency`: a step a token of two batches and ten warm-ups, and the file that vLLM writes.

    `--fake=other file` writes another one, with `--fake=short` outputs end after their first token.
    """
    load_general_plugins()
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    length = next((int(word.partition("=")[2]) for word in words if word.startswith("--output-len=")), 128)
    for _ in range(12 * (1 if "--fake=short" in words else length)):
        GPUModelRunner().execute_model()
    out = next(word.partition("=")[2] for word in words if word.startswith("--output-json="))
    with open(out, "w") as file:
        json.dump({} if "--fake=other file" in words else {"latencies": [1.5, 2.5]}, file)


def main():
    if sys.argv[1] == "bench":
        bench(sys.argv[3:])
        return
    given = arguments()
    print("the server is", os.getpid(), flush=True)
    if "noise" in given.fake:
        print("\x1b]0;title\x07\u202e" + "n" * 99, *["\x1b[31m" + "x" * 20_000] * 60, sep="\n", flush=True)
    if "crash" in given.fake:
        sys.exit("ValueError: the model's max seq len (4096) is larger than the available KV cache memory")
    if "slow start" in given.fake:
        time.sleep(600)
    load_general_plugins()
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    runner = GPUModelRunner()
    engine = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,), daemon=True)
    if any(word.startswith("engine") for word in given.fake):
        engine.start()
    done = {"request_success": 0, "prompt_tokens": 0, "generation_tokens": 0, "prefix_cache_hits": 0, "num_preemptions": 0}
    seen = set()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def answer(self, body, code=200):
            data = body.encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            if self.path == "/v1/models":
                self.answer(json.dumps({"data": [{"id": given.served_model_name}]}))
            elif self.path == "/metrics":
                self.answer("# HELP what\n" + "".join(f'vllm:{name}_total{{engine="0"}} {float(count)}\n' for name, count in done.items()))
            else:
                self.answer("")

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "die" in given.fake:
                print("RuntimeError: engine core died", flush=True)
                os._exit(7)
            if "killed" in given.fake:
                os.kill(os.getpid(), signal.SIGKILL)
            if "engine killed, then asked to end" in given.fake:
                os.kill(engine.pid, signal.SIGKILL)
                time.sleep(0.3)
                engine.terminate()
                engine.join()
                os._exit(0)
            ends = {"engine killed": signal.SIGKILL, "engine crashed": signal.SIGSEGV, "engine illegal": signal.SIGILL}
            for fake in ends.keys() & set(given.fake):
                os.kill(engine.pid, ends[fake])
                engine.join()
                print("EngineDeadError", "nanobind: leaked 514 functions!", sep="\n", flush=True)
                os._exit(0)
            if "engine lost" in given.fake:
                os.kill(engine.pid, signal.SIGKILL)
                engine.join()
                self.answer("", 500)
                return
            if "hang" in given.fake:
                time.sleep(600)
            if "stopped" in given.fake:
                os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(given.delay)
            tokens = asked["max_tokens"] - (1 if "short" in given.fake else 0)
            tokens = 1 if "first token" in given.fake else 0 if "no token" in given.fake else tokens
            runner.execute_model()
            done["request_success"] += 1
            done["prompt_tokens"] += 4
            done["generation_tokens"] += tokens
            if given.enable_prefix_caching and asked["prompt"] in seen:
                done["prefix_cache_hits"] += 4
            seen.add(asked["prompt"])
            self.answer(json.dumps({"tokens": tokens}), 500 if "fail" in given.fake else 200)

    ThreadingHTTPServer((given.host, given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
