"""Busy neighbours: processes that keep the CPUs busy, ended by their process ids, also after Ctrl-C, and by themselves if their program is killed."""

import ctypes
import os
import signal
import subprocess
import sys

# `prctl(PR_SET_PDEATHSIG, …)`: neighbours end with the program that started them.
PDEATHSIG = 1
# Loaded before processes are forked, which may happen in several threads.
LIBC = ctypes.CDLL(None)


class Neighbours:
    """Processes that keep the CPUs busy; each counts on one CPU."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        cpus = sorted(os.sched_getaffinity(0))
        for number in range(self.count):
            self.processes.append(busy(cpus[number % len(cpus)]))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.processes.clear()


def busy(cpu):
    parent = os.getpid()

    def on_its_cpu():
        LIBC.prctl(PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.sched_setaffinity(0, {cpu})

    # Only the program that started them handles Ctrl-C; it ends the neighbours.
    return subprocess.Popen(
        [sys.executable, "-c", "while True: pass"], preexec_fn=on_its_cpu, start_new_session=True, stdout=subprocess.DEVNULL
    )
