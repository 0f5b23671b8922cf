#!/usr/bin/env python3
"""Downloads COUNT files with PROGRAM, and kills each download with SIGKILL at random moments until it is complete.

kill_torture.py PROGRAM COUNT [SEED]: after each kill the target must be missing or complete and right. At the end it must be
there, without other files. Prints the number of kills.
"""
import concurrent.futures, os, random, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True
from lying_server import content

program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1


def fetch(folder, port, number):
    chance = random.Random(seed * 1_000_003 + number)
    size = chance.choice([0, 1, 100_000, 700_000, 1_500_000])
    version = number % 5 + 1
    expected = content(version, size)
    path = os.path.join(folder, f"file-{number}")
    command = [program, f"http://127.0.0.1:{port}/slow/k{number}?size={size}&version={version}", "-o", path]
    kills = 0
    while True:
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            said = process.communicate(timeout=chance.uniform(0, 0.12) if kills < 20 else 60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
        else:
            if process.returncode != 0:
                raise AssertionError(f"{path}: exit status {process.returncode}: {said.decode()}")
        if os.path.exists(path):
            with open(path, "rb") as file:
                if file.read() != expected: raise AssertionError(f"{path}: wrong bytes after {kills} kills")
        if process.returncode == 0: break
    if not os.path.exists(path): raise AssertionError(f"{path}: missing after exit status 0")
    os.remove(path)
    return kills


with tempfile.TemporaryDirectory() as folder:
    server = subprocess.Popen([sys.executable, "-B", os.path.join(here, "lying_server.py"), folder],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline())
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            kills = sum(pool.map(lambda number: fetch(folder, port, number), range(count)))
        # A kill between the rename and the removal of the record leaves the record. The next download of the target removes it.
        left = [name for name in os.listdir(folder) if not name.endswith((".jsonl", ".part.state"))]
        if left: raise AssertionError(f"left behind: {left}")
        requests = sum(1 for name in os.listdir(folder) if name.endswith(".jsonl") for line in open(os.path.join(folder, name)))
        resumed = sum('"if-range"' in line for name in os.listdir(folder) if name.endswith(".jsonl")
                      for line in open(os.path.join(folder, name)))
        print(f"{count} files, {kills} kills, {requests} requests, {resumed} of them resumed; every byte right")
    finally:
        server.stdin.close()
        server.wait()
