#!/usr/bin/python3
"""LLVM's lit, also for machines without /dev/shm, where its processes' semaphores would be: there it uses threads.

    test/lit.py [lit's own arguments], for example -v build/test --filter canonicalize"""

import concurrent.futures
import multiprocessing
import os
import runpy
import shutil
import signal
import sys


def has_semaphores():
    try:
        multiprocessing.Lock()
        return True
    except OSError:
        return False


class ThreadPool:
    """The part of multiprocessing.Pool that lit uses."""

    def __init__(self, workers, initializer, arguments):
        # lit's workers ignore Ctrl-C, which threads cannot.
        set_handler, signal.signal = signal.signal, lambda number, handler: None
        initializer(*arguments)
        signal.signal = set_handler
        self.threads = concurrent.futures.ThreadPoolExecutor(workers)

    def apply_async(self, function, args, callback):
        done = self.threads.submit(function, *args)
        done.add_done_callback(lambda done: done.cancelled() or callback(done.result()))
        return Answer(done)

    def close(self):
        self.threads.shutdown(wait=False)

    def terminate(self):
        self.threads.shutdown(wait=False, cancel_futures=True)

    def join(self):
        self.threads.shutdown()


class Answer:
    def __init__(self, done):
        self.done = done

    def get(self, timeout):
        try:
            return self.done.result(timeout)
        except concurrent.futures.TimeoutError:
            raise multiprocessing.TimeoutError from None


if __name__ == "__main__":
    lit = os.environ.get("HEDDLE_LIT") or next(
        (path for path in ("/usr/lib/llvm-22/bin/lit", shutil.which("lit") or "") if os.path.exists(path)), None)
    if not lit:
        sys.exit("lit.py: there is no lit; tools/setup.sh --tests installs it (llvm-22-tools), or set HEDDLE_LIT")
    if not has_semaphores():
        multiprocessing.Pool = ThreadPool
    sys.argv[0], sys.path[0] = lit, os.path.dirname(lit)
    runpy.run_path(lit, run_name="__main__")
