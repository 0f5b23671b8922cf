"""Starts private daemons, opsd-web and browsers for the tests of the page."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PROGRAMS = os.environ["OPSD_PROGRAMS"]
PATIENCE = 30


def until(condition, what):
    """Repeats a condition until its value is true, and returns the value."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            value = condition()
        except Exception as error:  # The page may change while the condition reads it.
            value, what = None, f"{what} ({error!r:.200})" if time.monotonic() > end else what
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.05)


class Machine:
    def __init__(self, workers=4):
        self.folder = tempfile.TemporaryDirectory(prefix="opsd-page-")
        self.state = self.folder.name
        self.environment = dict(os.environ, OPS_SOCKET=f"{self.state}/control.sock", XDG_RUNTIME_DIR=self.state)
        self.environment["PATH"] = PROGRAMS + ":" + os.environ["PATH"]
        self.workers = workers
        self.webs = []
        self.start()

    def start(self):
        with open(f"{self.state}/opsd.log", "ab") as log:
            self.daemon = subprocess.Popen(
                [f"{PROGRAMS}/opsd", "--state", self.state, "--socket", self.environment["OPS_SOCKET"], "--workers", str(self.workers)],
                stderr=log, env=self.environment)
        until(lambda: self.status(), "opsd answers")

    def status(self):
        return self.call("Status")

    def call(self, method, parameters=None):
        """Calls a method of the daemon directly, without opsd-web."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.environment["OPS_SOCKET"])
            message = {"method": "org.opsd.Control." + method, "parameters": parameters or {}}
            connection.sendall(json.dumps(message).encode() + b"\0")
            reply = b""
            while not reply.endswith(b"\0"):
                piece = connection.recv(1 << 16)
                if not piece:
                    raise ConnectionError("opsd closed the connection")
                reply += piece
        return json.loads(reply[:-1])["parameters"]

    def opsctl(self, *words):
        done = subprocess.run([f"{PROGRAMS}/opsctl", *words], env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.strip()

    def operation(self, ref):
        return self.call("Show", {"ref": str(ref)})["operation"]

    def graph(self, graph):
        path = f"{self.state}/graph.json"
        with open(path, "w") as file:
            json.dump(graph, file)
        self.opsctl("submit", "-f", path)

    def web(self, *options):
        web = Web(self, options)
        self.webs.append(web)
        return web

    def stop(self, number=signal.SIGTERM):
        self.daemon.send_signal(number)
        self.daemon.wait(PATIENCE)

    def close(self):
        for web in self.webs:
            web.close()
        runner = self.status()["runnerPid"]
        self.stop(signal.SIGINT)
        if runner:
            try:
                os.kill(runner, signal.SIGTERM)
                until(lambda: not os.path.exists(f"/proc/{runner}"), "the runner ends")
            except ProcessLookupError:
                pass
        self.folder.cleanup()


class Web:
    def __init__(self, machine, options):
        self.process = subprocess.Popen(
            [f"{PROGRAMS}/opsctl", "web", *(options or ["--port", "0"])], env=machine.environment, stdout=subprocess.PIPE, text=True)
        self.link = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.bearer = re.search(r"Bearer (\w+)", self.process.stdout.readline())[1]
        self.address = self.link.split("#")[0]
        self.port = int(re.search(r":(\d+)/", self.link)[1])

    def open(self, browser):
        """Opens a session in a browser with the latest link that opsd-web has printed."""
        browser.get(self.link)
        until(lambda: browser.find_elements("css selector", "main[data-ready]"), "the page opens")
        self.link = re.search(r"http://\S+", self.process.stdout.readline())[0]

    def memory(self):
        """Returns the peak resident memory of opsd-web in bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        self.process.stdout.close()


def browser(width=1440, height=900, dark=False, *more):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}", *more]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    driver.set_page_load_timeout(PATIENCE)
    return driver
