"""The stand-in has no operators, so that its mode sees none."""


class TorchDispatchMode:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
