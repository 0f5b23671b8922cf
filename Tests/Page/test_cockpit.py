"""Tests of the page in Cockpit, with a real cockpit-ws on loopback and a session of the user who runs the test."""

import os
import socket
import subprocess
import tempfile
import unittest

from selenium.webdriver.common.by import By

from machine import Machine, browser, until

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


def setUpModule():
    global machine, tab, frame
    machine = Machine()
    unittest.addModuleCleanup(machine.close)
    machine.graph({"name": "nightly", "operations": [
        {"name": "fetch", "command": ["true"]}, {"name": "build", "command": ["sleep", "600"], "after": ["fetch"]},
        {"name": "publish", "command": ["true"], "after": ["build"]}]})
    machine.opsctl("submit", "--name", "lively", "--shell", "echo written; sleep 600")
    machine.opsctl("note", "lively", HOSTILE)
    data = tempfile.TemporaryDirectory(prefix="opsd-cockpit-")
    unittest.addModuleCleanup(data.cleanup)
    subprocess.run([f"{HERE}/../../scripts/install-cockpit", f"{data.name}/cockpit/opsd"], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Without these variables, the session would start an SSH agent and a D-Bus daemon, and leave them running.
    environment = dict(
        machine.environment, XDG_DATA_HOME=data.name, SSH_AUTH_SOCK=f"{data.name}/no-agent",
        DBUS_SESSION_BUS_ADDRESS=f"unix:path={data.name}/no-bus")
    server = subprocess.Popen(
        ["/usr/lib/cockpit/cockpit-ws", "--address", "127.0.0.1", "--port", str(port), "--local-session", "/usr/bin/cockpit-bridge"],
        env=environment, stderr=subprocess.DEVNULL)
    unittest.addModuleCleanup(lambda: (server.terminate(), server.wait(30)))
    tab = browser()
    unittest.addModuleCleanup(tab.quit)
    frame = f"http://127.0.0.1:{port}/cockpit/@localhost/opsd/index.html"
    until(lambda: socket.create_connection(("127.0.0.1", port), 5).close() is None, "cockpit-ws listens")
    tab.get(frame)
    until(lambda: tab.find_elements(By.CSS_SELECTOR, "main[data-ready]"), "the page opens")


def go(address):
    tab.get("about:blank")
    tab.get(f"{frame}#{address}")
    until(lambda: tab.find_elements(By.CSS_SELECTOR, "main[data-ready]"), f"{address} opens")


def sees(words):
    until(lambda: words in tab.find_element(By.TAG_NAME, "body").text, f"the page shows {words!r}")


class Cockpit(unittest.TestCase):
    def test_every_view_opens_without_an_error(self):
        for address, words in (("/", "Needs attention"), ("/list", "lively"), ("/graphs", "nightly"), ("/graph/nightly", "publish"),
                               ("/history/nightly", "build"), ("/schedules", "no schedules")):
            with self.subTest(address):
                tab.get_log("browser")
                go(address)
                sees(words)
                self.assertEqual([one for one in tab.get_log("browser") if one["level"] == "SEVERE" and "favicon" not in one["message"]], [])

    def test_a_graph_is_drawn(self):
        go("/graph/nightly")
        until(lambda: len(tab.find_elements(By.CSS_SELECTOR, ".drawing svg g[data-ids]")) == 3, "a drawing of three operations")

    def test_a_log_is_followed_and_markup_is_shown_as_text(self):
        go("/operation/lively")
        sees("written")
        sees(HOSTILE)
        self.assertNotEqual(tab.title, "owned")

    def test_changes_appear_without_a_reload_and_actions_work(self):
        go("/")
        sees("live")
        machine.opsctl("submit", "--name", "newcomer", "--", "sleep", "600")
        sees("newcomer")
        go("/operation/newcomer")
        tab.execute_script("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Cancel').click()")
        until(lambda: tab.find_elements(By.CSS_SELECTOR, "dialog[open] .danger"), "the dialog opens")
        tab.execute_script("document.querySelector('dialog[open] .danger').click()")
        until(lambda: machine.operation("newcomer")["outcome"] == "cancelled", "newcomer is cancelled")

    def test_the_fragment_of_the_url_is_the_address_of_the_view(self):
        go("/list?outcome=failed")
        tab.execute_script("document.querySelector('nav a[href=\"/graphs\"]').click()")
        until(lambda: tab.current_url.endswith("#/graphs"), "the fragment changes")
        tab.back()
        until(lambda: tab.current_url.endswith("#/list?outcome=failed"), "the back button returns to the list")
        tab.execute_script("document.querySelector('.skip').click()")
        self.assertTrue(tab.current_url.endswith("#/list?outcome=failed"))

    def test_the_page_reconnects_to_a_restarted_daemon(self):
        go("/")
        machine.stop()
        sees("reconnecting")
        machine.start()
        machine.opsctl("submit", "--name", "meanwhile", "--", "sleep", "600")
        sees("meanwhile")
        machine.opsctl("cancel", "meanwhile")

    def test_the_page_is_live_again_after_events_that_it_has_not_seen_were_pruned(self):
        go("/")
        sees("live")
        machine.stop()
        sees("reconnecting")
        machine.start()
        # Without the name of the socket, the page cannot connect.
        path, hidden = machine.environment["OPS_SOCKET"], f"{machine.state}/hidden.sock"
        os.rename(path, hidden)
        machine.environment["OPS_SOCKET"] = hidden
        machine.opsctl("submit", "--name", "pruned", "--", "true")
        machine.opsctl("wait", "pruned")
        machine.opsctl("prune", "--older-than", "0s")
        machine.opsctl("submit", "--name", "unseen", "--", "sleep", "600")
        machine.environment["OPS_SOCKET"] = path
        os.rename(hidden, path)
        connection = lambda: tab.find_element(By.CSS_SELECTOR, ".connection").text
        sees("unseen")
        until(lambda: connection() == "live", "the page is live again")
        machine.opsctl("submit", "--name", "latest", "--", "sleep", "600")
        sees("latest")
        self.assertEqual(connection(), "live")


if __name__ == "__main__":
    unittest.main(verbosity=2)
