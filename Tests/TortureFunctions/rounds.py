"""rounds.py DIRECTORY QUEUE: runs rounds of functions as operations until there is a file DIRECTORY/stop.

The program may be killed at any moment and started again: it finds the calls of its last round by their key. Each call leaves
DIRECTORY/marks/ROUND-CALL-OPERATION-ATTEMPT; results go to DIRECTORY/results, one line for each call of a complete round.
"""

import os
import sys
import time
from pathlib import Path

import opsd

SINGLES, CALLS, CHUNK = 8, 36, 7
# A disk that fails, or the death of the machine: the call has to be made again.
RETRY = {"limit": 100, "backoff": "100ms", "on": ["failed", "interrupted"]}
PATIENCE = 300.0


def square(directory, number, call):
    mark = Path(directory, "marks", f"{number}-{call}-{os.environ['OPS_ID']}-{os.environ['OPS_ATTEMPT']}")
    try:
        mark.open("x").close()
        # A planted fault: the judge has to find it.
        if "TORTURE_TWICE" in os.environ:
            mark.open("x").close()
    except FileExistsError:
        with Path(directory, "twice").open("a") as file:
            file.write(mark.name + "\n")
        if "TORTURE_TWICE" not in os.environ:
            raise
    time.sleep(call % 5 / 100)
    return call * call + number


def executor(key, **keys):
    """Returns an executor for a key, once the process that had it before is gone and the daemon is there."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return opsd.OpsExecutor(key=key, patience=PATIENCE, **keys)
        except (opsd.ConnectionFailed, opsd.KeyInUse):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def attach(key):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return opsd.OpsExecutor.attach(key, patience=PATIENCE)
        except (opsd.ConnectionFailed, opsd.KeyInUse):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def results_of(futures):
    for future in futures:
        value = future.result(PATIENCE)
        yield from value if isinstance(value, list) else [value]


def one_round(directory, number, queue):
    key, begun = f"round-{number}", directory / f"begun-{number}"
    lines = []
    if begun.exists():
        found = list(results_of(attach(key)))
        # The calls reach the daemon in their order.
        assert found == [call * call + number for call in range(len(found))], f"{key}: attach returned {found}"
        lines.append(f"attached {len(found)}")
    begun.touch()
    with executor(key, queue=queue, retry=RETRY) as one:
        singles = [one.submit(square, str(directory), number, call) for call in range(SINGLES)]
        rest = range(SINGLES, CALLS)
        many = one.map(square, [str(directory)] * len(rest), [number] * len(rest), rest, chunksize=CHUNK)
        values = [future.result(PATIENCE) for future in singles] + list(many)
    lines += [f"{number} {call} {value}" for call, value in enumerate(values)]
    with (directory / "results").open("a") as file:
        file.write("".join(line + "\n" for line in lines))
    (directory / f"done-{number}").touch()


def main():
    directory, queue = Path(sys.argv[1]), sys.argv[2]
    (directory / "marks").mkdir(exist_ok=True)
    number = sum(1 for _ in directory.glob("done-*"))
    while not (directory / "stop").exists() or (directory / f"begun-{number}").exists():
        one_round(directory, number, queue)
        number += 1


if __name__ == "__main__":
    main()
