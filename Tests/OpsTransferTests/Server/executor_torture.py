#!/usr/bin/env python3
"""Downloads COUNT files as operations of a private opsd, and kills opsd and opsd-transfer at random moments.

executor_torture.py BIN COUNT [SEED]: the directory BIN contains opsd, opsd-runner, opsd-transfer and opsctl. No operation is
retried: an attempt continues after every kill. At the end, each operation must have succeeded, every byte must be right, and
no partial files may be left.
"""
import json, os, random, signal, subprocess, sys, tempfile, time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True
from lying_server import content

programs, count, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
chance = random.Random(seed)


class Daemon:
    def __init__(self, folder):
        self.state = os.path.join(folder, "state")
        os.mkdir(self.state, 0o700)
        self.socket = os.path.join(self.state, "control.sock")
        self.configuration = os.path.join(folder, "opsd.conf")
        with open(self.configuration, "w") as file:
            file.write(f"[opsd]\nstate = {self.state}\nsocket = {self.socket}\n[executor transfer]\nkind = transfer\n")
        self.log = open(os.path.join(folder, "opsd.log"), "a")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [os.path.join(programs, "opsd"), "--config", self.configuration], stderr=self.log, stdout=self.log,
            env={**os.environ, "PATH": programs + ":" + os.environ["PATH"]})

    def kill(self):
        self.process.kill()
        self.process.wait()

    def executor(self):
        """Returns the pid of the opsd-transfer of this state directory, or None."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"/opsd-transfer") and self.state.encode() in words: return int(pid)

    def call(self, *words):
        """Returns the output of opsctl, or None if it fails."""
        end = subprocess.run([os.path.join(programs, "opsctl"), *words], capture_output=True, text=True,
                             env={**os.environ, "OPS_SOCKET": self.socket})
        return end.stdout if end.returncode == 0 else None

    def end(self):
        # opsd ends the opsd-transfer that it has started. The runner ends when its state directory is removed.
        self.call("cancel", "--all")
        self.process.terminate()
        self.process.wait()
        executor = self.executor()
        if executor: os.kill(executor, signal.SIGKILL)


def run(folder, port):
    daemon = Daemon(folder)
    daemon.start()
    sizes = [chance.choice([0, 1, 100_000, 700_000, 1_500_000, 5_000_000]) for _ in range(count)]
    operations = [{"name": f"f{n}", "http": {"to": os.path.join(folder, "out", f"f{n}"),
                   "url": f"http://127.0.0.1:{port}/slow/f{n}?size={sizes[n]}&version={n % 5 + 1}"}} for n in range(count)]
    graph = os.path.join(folder, "graph.json")
    with open(graph, "w") as file: json.dump({"name": "files", "operations": operations}, file)
    os.mkdir(os.path.join(folder, "out"))
    kills = {"opsd": 0, "opsd-transfer": 0}
    try:
        while daemon.call("submit", "--key", "files", "-f", graph) is None: time.sleep(0.05)
        while True:
            time.sleep(chance.uniform(0.1, 1.2))
            rows = daemon.call("ls", "--graph", "files", "--json")
            states = [row["outcome"] or row["state"] for row in map(json.loads, rows.splitlines())] if rows else []
            if states == ["succeeded"] * count: break
            bad = set(states) - {"succeeded", "executing", "ready", "pending"}
            if bad: raise AssertionError(f"operations are {bad}")
            choice = chance.random()
            if choice < 0.6:
                executor = daemon.executor()
                if executor:
                    os.kill(executor, signal.SIGKILL)
                    kills["opsd-transfer"] += 1
            if choice > 0.4:
                daemon.kill()
                kills["opsd"] += 1
                daemon.start()
        for n in range(count):
            with open(os.path.join(folder, "out", f"f{n}"), "rb") as file:
                if file.read() != content(n % 5 + 1, sizes[n]): raise AssertionError(f"wrong bytes: f{n}")
        left = [name for name in os.listdir(os.path.join(folder, "out")) if name.endswith(".part")]
        if left: raise AssertionError(f"left behind: {left}")
        return kills
    finally:
        daemon.end()


with tempfile.TemporaryDirectory() as folder:
    served = os.path.join(folder, "served")
    os.mkdir(served)
    server = subprocess.Popen([sys.executable, "-B", os.path.join(here, "lying_server.py"), served],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        kills = run(folder, int(server.stdout.readline()))
        requests = [json.loads(line) for name in os.listdir(served) for line in open(os.path.join(served, name))]
        resumed = sum("if-range" in request for request in requests)
        print(f"{count} operations, {kills['opsd']} kills of opsd and {kills['opsd-transfer']} of opsd-transfer, "
              f"{len(requests)} requests, {resumed} of them resumed; every byte right")
    finally:
        server.stdin.close()
        server.wait()
