#!/usr/bin/env python3
"""torture.py SEED ROUNDS: kill a program with a key and its daemon repeatedly at random moments.

The program is started again until it ends by itself. Each of its calls must have been made once, and have its result.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import opsd
from opsd.testing import PrivateDaemon

SOURCE = str(Path(opsd.__file__).parent.parent)
TESTS = str(Path(__file__).parent)

PROGRAM = """
import functools, sys
import functions, opsd

mark = functools.partial(functions.mark_slowly, sys.argv[1])
with opsd.OpsExecutor(key="torture") as executor:
    singles = [executor.submit(mark, 10000 + number) for number in range(30)]
    after = executor.options(after=singles[:3]).submit(mark, 5)
    squares = list(executor.map(mark, range(100, 300), chunksize=5))
    assert [future.result() for future in singles] == [(10000 + number) ** 2 for number in range(30)]
    assert squares == [number ** 2 for number in range(100, 300)]
    assert after.result() == 25
"""
MARKS, CALLS = 30 + 1 + 200, 30 + 1 + 40
# After this many kills the program is not killed any more, and must finish.
DEATHS = 8
PEACE = 120.0


def one_round(seed: int) -> int:
    """Returns the number of kills."""
    chance = random.Random(seed)
    kills = 0
    with tempfile.TemporaryDirectory() as scratch, PrivateDaemon() as daemon:
        environment = {**os.environ, "PYTHONPATH": f"{SOURCE}:{TESTS}", "OPS_SOCKET": daemon.socket}
        environment["XDG_STATE_HOME"] = scratch
        marks = Path(scratch, "marks")
        marks.mkdir()
        Path(scratch, "program.py").write_text(PROGRAM)
        command = [sys.executable, scratch + "/program.py", str(marks)]
        while True:
            with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None:
                    try:
                        process.wait(chance.uniform(0.02, 1.0) if kills < DEATHS else PEACE)
                    except subprocess.TimeoutExpired:
                        assert kills < DEATHS, f"seed {seed}: it does not end"
                        kills += 1
                        die(chance, daemon, process)
                assert process.stderr is not None
                error = process.stderr.read()
            if process.returncode == 0:
                break
            # The program may have started while the daemon was not running.
            assert process.returncode < 0 or "cannot reach opsd" in error, f"seed {seed}: {error}"
        assert len(os.listdir(marks)) == MARKS, f"seed {seed}"
        assert sum(len(reply.operations) for reply in daemon.client.list_stream()) == CALLS, f"seed {seed}"
    return kills


def die(chance: random.Random, daemon: PrivateDaemon, process: subprocess.Popen[str]) -> None:
    """Kills the program, the daemon or both. A daemon that is killed alone is restarted after a pause."""
    victims = chance.choice(["program", "daemon", "both"])
    if victims != "program":
        daemon.kill()
    if victims != "daemon":
        process.kill()
        process.wait()
    if victims == "daemon":
        time.sleep(chance.uniform(0, 0.3))
    if victims != "program":
        daemon.start()


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        print(f"seed {number}: {one_round(number)} deaths", flush=True)
