#!/usr/bin/python3
"""torture.py SECONDS SEED, within slurm-up --nodes=2 --users=alice: operations as jobs of a real Slurm, while everything dies.

Kills opsd, opsd-slurm, slurmctld, slurmd and sbatch at random; slurmctld also within seconds of submissions and releases.
sbatch lies (see beside this file). Nodes go down while scripts run on. Jobs are queued again and cancelled from outside, and
once the state directory of slurmctld is lost, so that numbers begin again at 1. Then every process is left alone until all
operations have ended, and marks that the commands have made are compared with what opsd says:

- no attempt has started twice;
- no two attempts that exclude each other have run at the same time: each holds a lock of the kernel while it runs;
- an operation that succeeded has run to its end in that attempt, and each exit status is that of the command;
- an operation that should succeed has, unless somebody has cancelled its job;
- no job is left in Slurm, and no attempt in the spool.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

DIRECTORY = os.environ["SLURM_UP_DIR"]
HOME = f"{DIRECTORY}/home/alice"
MARKS = f"{HOME}/marks"
NODES = ["n1", "n2"]

COMMAND = f"""
cd {MARKS} || exit 99
me=$OPS_ID.$OPS_ATTEMPT
mkdir "start.$me" || : >"double.$me.$$"
exec 8>>"lock.of.$OPS_ID" 9>>"lock.$CATEGORY"
flock -n 8 || : >"overlap.$me"
[ "$CATEGORY" = none ] || flock -n 9 || : >"overlap.$me.$CATEGORY"
sleep "$SECONDS_TO_RUN"
: >"end.$me.$CODE"
exit "$CODE"
"""


def run(*words, timeout=60, user=None):
    """Run a command; return its output, or None if it failed."""
    words = (["as", user] if user else []) + list(words)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def ctl(*words, timeout=60):
    return run("opsctl", "--socket", f"{HOME}/socket", *words, timeout=timeout, user="alice")


def pids(name, argument=""):
    """Processes of this pid namespace with such a program name, and such an argument."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm") as file:
                comm = file.read().strip()
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if comm == name and argument.encode() in line:
            found.append(int(entry))
    return found


def kill(name, argument="", number=signal.SIGKILL):
    for pid in pids(name, argument):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Torture:
    def __init__(self, seconds, seed):
        self.random = random.Random(seed)
        self.until = time.monotonic() + seconds
        self.wipe_at = time.monotonic() + seconds * 0.6
        # Categories let one operation run at a time: more would only prolong the end.
        self.most = min(400, int(1.5 * seconds))
        self.expected = {}
        self.cancelled = set()
        # Until this instant, Slurm may cancel a job when an earlier one with its number ends.
        self.numbers_change_until = 0.0
        self.counts = {}
        self.daemon = None
        self.repairs = []
        self.lies = f"{HOME}/lying"
        os.makedirs(self.lies)
        here = os.path.dirname(os.path.abspath(__file__))
        shutil.copy(f"{here}/sbatch", self.lies)
        with open(f"{self.lies}/real", "w") as file:
            file.write(shutil.which("sbatch") + "\n")
        with open(f"{HOME}/opsd.conf", "w") as file:
            file.write("[executor cluster]\nkind = slurm\nwindow = 40\ninterval = 1s\nlost-after = 15s\n")
            file.write(f"spool = {HOME}/spool\n")
        os.makedirs(MARKS)
        for path in (self.lies, MARKS, HOME):
            shutil.chown(path, "alice", "alice")
        self.lie(True)

    def lie(self, wanted):
        path = f"{self.lies}/lies"
        if wanted:
            open(path, "w").close()
        elif os.path.exists(path):
            os.remove(path)

    def start(self):
        words = ["as", "alice", "env", f"PATH={self.lies}:{os.environ['PATH']}", "opsd", "--state", f"{HOME}/state",
                 "--socket", f"{HOME}/socket", "--workers", "2", "--config", f"{HOME}/opsd.conf"]
        with open(f"{HOME}/log", "a") as log:
            self.daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(300):
            if ctl("status") is not None:
                return
            time.sleep(0.1)
        raise SystemExit("slurm-torture: opsd does not start")

    # Work

    def submit(self):
        kind = self.random.choice(["single", "single", "array", "array", "pack", "bad"])
        count = self.random.randint(3, 8) if kind in ("array", "pack") else 1
        category = self.random.choice(["none", "none", "red", "blue"])
        code = 3 if kind == "bad" else 0
        # A signal of Slurm may end a command of which Slurm has lost the job.
        words = ["submit", "--executor", "cluster", "--retry", "50", "--retry-backoff", "1s", "--retry-factor", "1",
                 "--retry-on", "interrupted" if code else "interrupted,failed"]
        if count > 1:
            words += ["--array", f"1-{count}"]
        if kind == "pack":
            words += ["--slurm", "pack=3"]
        if category != "none":
            words += ["--category", category]
        for name, value in (("CATEGORY", category), ("CODE", code),
                            ("SECONDS_TO_RUN", f"{self.random.choice([0, 0.2, 1, 3]):g}")):
            words += ["--env", f"{name}={value}"]
        words += ["--", "sh", "-c", COMMAND]
        key = f"{self.random.getrandbits(60):x}"
        answer = ctl(*words[:1], "--key", key, *words[1:])
        # The daemon may have died with the answer: the same key asks for it.
        answer = answer or ctl(*words[:1], "--key", key, *words[1:])
        if answer is None:
            return
        # `17`, or `g3  5 operations  17-21`
        first = int(answer.split()[-1].split("-")[0])
        for place in range(count):
            self.expected[first + place] = code
            if time.monotonic() < self.numbers_change_until:
                self.cancelled.add(first + place)

    def cancel(self):
        if self.expected and self.random.random() < 0.3:
            operation = self.random.choice(list(self.expected))
            self.cancelled.add(operation)
            ctl("cancel", str(operation))

    # Trouble

    def trouble(self):
        kinds = {
            "opsd": 2, "opsd-slurm": 3, "slurmctld": 3, "slurmd": 2, "sbatch": 3, "node down": 1, "node away": 1,
            "requeue": 1, "scancel": 1, "hold": 1,
        }
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        if time.monotonic() > self.wipe_at:
            self.wipe_at = float("inf")
            kind = "lost state"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        node = self.random.choice(NODES)
        if kind == "opsd":
            kill("opsd", HOME)
            self.daemon.wait()
            time.sleep(self.random.uniform(0, 1))
            self.start()
        elif kind == "opsd-slurm":
            kill("opsd-slurm")
        elif kind == "slurmctld":
            run("daemon", "kill", "slurmctld")
            self.later(self.random.uniform(0, 4), "daemon", "start", "slurmctld")
        elif kind == "lost state":
            run("daemon", "kill", "slurmctld")
            self.cancelled.update(self.expected)
            self.numbers_change_until = time.monotonic() + 20
            shutil.rmtree(f"{DIRECTORY}/state")
            os.mkdir(f"{DIRECTORY}/state")
            self.later(0.5, "daemon", "start", "slurmctld")
        elif kind == "slurmd":
            run("daemon", "kill", node)
            self.later(self.random.uniform(0, 3), "daemon", "start", node)
        elif kind == "sbatch":
            for _ in range(20):
                if pids("sbatch"):
                    return kill("sbatch")
                time.sleep(0.05)
        elif kind == "node down":
            run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=torture", timeout=30)
            self.later(3, "scontrol", "update", f"NodeName={node}", "State=RESUME")
        elif kind == "node away":
            # The controller takes it for dead, and its scripts run on.
            run("daemon", "stop", node)
            self.later(9, "daemon", "cont", node)
        elif kind in ("requeue", "scancel", "hold"):
            self.disturb_job(kind)

    def disturb_job(self, kind):
        rows = run("squeue", "-h", "-r", "-t", "PD,R", "--Format=JobArrayID:|,Comment:|", timeout=30, user="alice")
        jobs = [row.split("|") for row in (rows or "").splitlines() if "|opsd:" in row]
        if not jobs:
            return
        job, comment = self.random.choice(jobs)[:2]
        if kind == "scancel":
            # Whatever it runs may be cancelled: its number may have changed hands.
            self.cancelled.update(self.expected)
            self.counts["scancel of " + comment.split(":")[2]] = 1
            run("scancel", job, timeout=30)
        else:
            run("scontrol", kind, job, timeout=30)
            if kind == "hold":
                self.later(3, "scontrol", "release", job)

    def later(self, seconds, *words):
        self.repairs.append((time.monotonic() + seconds, words))

    def repair(self, everything=False):
        due = [words for at, words in self.repairs if everything or at <= time.monotonic()]
        self.repairs = [(at, words) for at, words in self.repairs if not everything and at > time.monotonic()]
        for words in due:
            run(*words, timeout=30)

    def resume(self):
        """A node on which a job was to start twice is drained by Slurm, and one that was away is down."""
        for node in NODES:
            state = run("sinfo", "-h", "-n", node, "-o", "%t", timeout=30) or ""
            if any(word in state for word in ("drain", "drng", "down")):
                run("scontrol", "update", f"NodeName={node}", "State=RESUME", timeout=30)

    def release(self):
        """Release jobs that `hold` has held: the release may have met a dead controller."""
        rows = run("squeue", "-h", "-r", "-t", "PD", "-o", "%i|%r", timeout=30) or ""
        for row in rows.splitlines():
            if row.endswith("|JobHeldAdmin"):
                run("scontrol", "release", row.split("|")[0], timeout=30)

    def main(self):
        self.start()
        for category in ("red", "blue"):
            ctl("category", "set", category, "--limit", "1")
        resumed = 0.0
        while time.monotonic() < self.until:
            if len(self.expected) < self.most:
                for _ in range(self.random.randint(1, 3)):
                    self.submit()
            self.cancel()
            time.sleep(self.random.uniform(0, 1.5))
            self.trouble()
            self.repair()
            if time.monotonic() - resumed > 4 and not self.repairs:
                self.resume()
                resumed = time.monotonic()
        return self.settle()

    def settle(self):
        self.lie(False)
        self.repair(everything=True)
        for node in NODES:
            run("daemon", "cont", node)
        left, progress = -1, time.monotonic()
        while time.monotonic() < progress + 90:
            self.resume()
            self.release()
            rows = ctl("ls", "--json")
            if rows is not None:
                unfinished = len([row for row in rows.splitlines() if '"state":"finished"' not in row])
                if unfinished == 0:
                    break
                if unfinished != left:
                    left, progress = unfinished, time.monotonic()
            time.sleep(2)
        return self.judge()

    # Judgement

    def judge(self):
        wrong = []
        marks = os.listdir(MARKS)
        wrong += [f"mark {name}" for name in marks if name.split(".")[0] in ("double", "overlap")]
        rerun = succeeded = 0
        for operation, code in sorted(self.expected.items()):
            text = ctl("show", str(operation), "--json")
            row = json.loads(text) if text else {}
            outcome, attempt = row.get("outcome"), row.get("attempt", 0)
            rerun += attempt > 1
            succeeded += outcome == "succeeded"
            usual = "succeeded" if code == 0 else "failed"
            if code and outcome == "failed" and row.get("signal") and self.counts.get("lost state"):
                continue
            if outcome != usual and not (outcome == "cancelled" and operation in self.cancelled):
                wrong.append(f"operation {operation} is {row.get('state')}: {outcome}, {row.get('cause')}")
            if outcome == usual and f"end.{operation}.{attempt}.{code}" not in marks:
                wrong.append(f"operation {operation} is {outcome}, and its command did not reach its end")
            if outcome == "failed" and row.get("exitCode") != code:
                wrong.append(f"operation {operation} has exit status {row.get('exitCode')}, in truth {code}")
        started = [name for name in marks if name.startswith("start.")]
        wrong += self.leftovers()
        print(f"slurm-torture: {len(self.expected)} operations, {len(started)} starts, {succeeded} succeeded, "
              f"{rerun} ran more than once; trouble: "
              + ", ".join(f"{count} x {kind}" for kind, count in self.counts.items() if " of " not in kind))
        with open(f"{self.lies}/lies.log") as file:
            print(f"slurm-torture: sbatch has lied {len(file.readlines())} times")
        for text in wrong[:40]:
            print(f"slurm-torture: WRONG: {text}", file=sys.stderr)
        if wrong:
            logs = [f"{HOME}/state/executor-cluster.log", f"{DIRECTORY}/log/slurmctld.log"]
            subprocess.run(["tail", "-n", "200", *logs], stdout=sys.stderr)
        return 1 if wrong else 0

    def leftovers(self):
        """Held jobs that nobody needs are found within some listings."""
        for _ in range(30):
            rows = run("squeue", "-h", "-r", "-t", "PD,R,CG,S", "--Format=JobArrayID:|,State:|,Reason:|,Comment:|", timeout=30)
            spool = [name for entry in os.listdir(f"{HOME}/spool") for name in os.listdir(f"{HOME}/spool/{entry}")
                     if name[0].isdigit()]
            if rows == "" and not spool:
                return []
            time.sleep(2)
        return [f"left in Slurm: {row}" for row in (rows or "?").splitlines()] + [f"left in the spool: {name}" for name in spool]


seed = int(sys.argv[2])
print(f"slurm-torture: {sys.argv[1]} s with seed {seed}")
sys.exit(Torture(float(sys.argv[1]), seed).main())
