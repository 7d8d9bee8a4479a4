"""The program of a worker: it runs what a tuning measures."""

from . import _native

if __name__ == "__main__":
    _native.library().attnTuneWorker()
