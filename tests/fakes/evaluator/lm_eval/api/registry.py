import json
import urllib.request


class Model:
    """Says the right answer, but for items whose number `wrong` divides."""

    def __init__(self, wrong=0, fake="", **asked):
        self.wrong, self.fake, self.asked = wrong, fake, asked

    @classmethod
    def create_from_arg_obj(cls, arguments, more):
        return cls(**arguments, **more)

    def answer(self, number, doc):
        if self.fake == "nan":
            return (float("nan"), False)
        return "wrong" if self.wrong and number % self.wrong == 0 else doc["answer"]


class Engine(Model):
    def __init__(self, **asked):
        super().__init__(**asked)
        import torch  # noqa: F401  (vLLM has it before it loads its plugins)
        from vllm.plugins import load_general_plugins

        if self.fake == "crash":
            raise RuntimeError("no engine at /home/somebody/model")
        load_general_plugins()
        from vllm.v1.worker.gpu_model_runner import GPUModelRunner

        self.runner = GPUModelRunner()

    def answer(self, number, doc):
        self.runner.execute_model()
        return super().answer(number, doc)


class Client(Model):
    def answer(self, number, doc):
        body = json.dumps({"prompt": doc["asked"], "max_tokens": 4, "model": self.asked["model"]}).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(self.asked["base_url"], data=body), timeout=10) as response:
            response.read()
        return super().answer(number, doc)


def get_model(name):
    return Engine if name == "vllm" else Client
