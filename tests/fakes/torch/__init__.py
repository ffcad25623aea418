__version__ = "2.13.0+cpu"


class _Operators:
    rms_norm = staticmethod(lambda: None)


class ops:
    _C = _Operators


def manual_seed(seed):
    pass
