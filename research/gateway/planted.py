#!/usr/bin/env python3
"""Does the paired design find what a gateway adds? Known answers, on a dedicated machine, after `make build`.

- direct: via the "gateway", which is a second model, and directly: 0 within 10 µs.
- planted: the second model sends its first event 200 µs or 1 ms later: found within 10 % or 20 µs.
- cpu: a relay that burns 100 µs of CPU time per event more than another one: found within 5 %, also next to four busy neighbours.

Times are measured on one CPU: on two, the second model is woken on a CPU of its own, which takes 30 to 80 µs in a virtual machine and
is a part of what a gateway adds. Both relays burn, because a process that is woken from idle takes more CPU time for the same work. They get
fewer streams: at 50 per second a burning relay is busy for 60 % of the time, and one run found 89.9 µs per event.

Each answer is a mean over rounds, and must agree in 95 % of the runs. A run takes about half an hour.
"""

import argparse
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "research"))
from neighbours import Neighbours  # noqa: E402

PRONY = ROOT / "target/release/prony"
NEIGHBOURS = 4
BURN_US = 100
ONE_CPU = {min(os.sched_getaffinity(0))}
# The event with the role, the texts, the finish reason, the usage and the end.
CONTRACT = """
title = "Planted"
skip_common_cases = ["unknown path", "wrong method", "percent-encoded path", "query string", "HEAD"]

[backing_service.model]
use = "model"

[operation.chat]
http = "POST /v1/chat/completions"
headers = { Authorization = "Bearer client-key" }
json = { model = "steady", stream = true, max_tokens = 40, messages = [{ role = "user", content = "{nonce}" }] }
with = { nonce = { random_hex = 16 } }

[operation.chat.expect]
content_type = "text/event-stream"

[operation.chat.expect.events]
count = 40
each = { json_contains = { id = "chatcmpl-{nonce}", choices = [{ index = 0, delta = { content = "w{= i * 7919 % 1000} {= i} " } }] } }
last = [{ json_contains = { id = "chatcmpl-{nonce}" } }, { json_contains = { id = "chatcmpl-{nonce}" } }, { text = "[DONE]" }]

[workload.chat]
summary = "Streams of 40 events."
mix = [{ operation = "chat" }]
load = { kind = "open", rate = 50, connections = 64 }
"""
SERVICE = """
title = "{name}"
language = "Rust"
framework = "none"
class = "stripped"
contracts = ["planted"]
run = {run}

[workers]
kind = "threads"
note = "one thread"

[[variant]]
name = "current"
version = "1"
"""
SUITE = """
rounds = {rounds}
design = "paired"
paired = {{ block = "2s", repeats = 4 }}
warm_up = "2s"

[[group]]
contract = "planted"
rank_by = "overhead"
load = {{ kind = "open", rate = {rate}, connections = 64, spacing = "poisson" }}
services = {services}
"""


def model(first):
    return f'exec {PRONY} model --host="$HOST" --port="$PORT" --key=client-key --first={first} --gap=5ms'


def relay(burn_us):
    return f"BURN_US={burn_us} exec python3 {ROOT / 'tests/toy/gateway.py'}"


MODELS = {"direct": model("20ms"), "planted-200us": model("20200us"), "planted-1ms": model("21ms")}
RELAYS = {"relay": relay(BURN_US), "burning": relay(2 * BURN_US)}


def project(folder, rounds, rates):
    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("prony.toml", "")
    write("contracts/planted/contract.toml", CONTRACT)
    for suite, services, rate in (("times", MODELS, rates[0]), ("cpu", RELAYS, rates[1])):
        write(f"suites/{suite}.toml", SUITE.format(rounds=rounds, rate=rate, services=json.dumps(list(services))))
    for name, run in (MODELS | RELAYS).items():
        write(f"services/{name}/service.toml", SERVICE.format(name=name, run=json.dumps(run)))


def measured(folder, suite, seed, cpus):
    """The rows of a suite, measured on these CPUs, by service."""
    command = [PRONY, "run", suite, "--json", "--seed", str(seed)]
    pinned = functools.partial(os.sched_setaffinity, 0, cpus)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, preexec_fn=pinned)
    rows = json.loads(done.stdout)["groups"][0]["services"]
    return {row["service"]: row for row in rows}


def times(folder, seed):
    """Name, found, true value and the accepted error of each answer, in µs."""
    rows = measured(folder, "times", seed, ONE_CPU)
    for name, truth in ("direct", 0), ("planted-200us", 200), ("planted-1ms", 1000):
        found = rows[name]["overhead_first_ns_p50"]["point"] / 1e3
        yield name, found, truth, 10 if truth == 0 else max(20, 0.1 * truth)


def cpu_times(folder, seed, neighbours):
    """The same for the CPU time per event."""
    with Neighbours(neighbours):
        rows = measured(folder, "cpu", seed, os.sched_getaffinity(0))
    cpu = {name: rows[name]["cpu_ns_per_event"]["point"] / 1e3 for name in RELAYS}
    yield f"CPU per event, {neighbours} neighbours", cpu["burning"] - cpu["relay"], BURN_US, 0.05 * BURN_US


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rates", type=int, nargs=2, default=[50, 20], help="streams per second, to measure times and CPU time")
    parser.add_argument("--only", choices=["times", "cpu"], help="only these answers")
    arguments = parser.parse_args()
    held = {}
    with tempfile.TemporaryDirectory() as folder:
        project(pathlib.Path(folder), arguments.rounds, arguments.rates)
        for seed in range(arguments.runs):
            answers = {
                "times": times(folder, seed),
                "cpu": itertools.chain(*(cpu_times(folder, seed, neighbours) for neighbours in (0, NEIGHBOURS))),
            }
            chosen = [arguments.only] if arguments.only else answers
            for name, found, truth, error in itertools.chain(*(answers[each] for each in chosen)):
                held.setdefault(name, []).append(abs(found - truth) <= error)
                print(f"{name}: {found:.1f} µs, true {truth} ± {error:.0f}", flush=True)
    for name, all_held in held.items():
        print(f"{name}: {sum(all_held)} of {len(all_held)} within the error")
    sys.exit(any(sum(all_held) < 0.95 * len(all_held) for all_held in held.values()))


if __name__ == "__main__":
    main()
