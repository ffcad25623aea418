__version__ = version = "0.32.0+cpu"
