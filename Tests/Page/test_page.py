"""Tests of the page of opsd-web in a real browser: views, actions, hostile clients and load."""

import http.client
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from machine import Machine, browser, until

try:
    from axe_selenium_python import Axe
except ImportError:
    Axe = None

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
LOG = r"""printf '\033[31mred\033[0m plain\n\033]0;title\007<b>not bold</b>\nover\rwritten\n'; echo to stderr >&2; sleep 600"""
VIEWS = ["/", "/list", "/list?state=executing", "/graphs", "/graph/nightly", "/history/nightly", "/operation/lively", "/operation/waiter", "/operation/broken", "/schedules", "/schedule/backup"]


def setUpModule():
    global machine, web, tab
    machine = Machine()
    unittest.addModuleCleanup(machine.close)
    machine.opsctl("category", "set", "gpu", "--capacity", "1")
    for broken in (0, 1, 0):
        machine.graph({"name": "nightly", "operations": [
            {"name": "fetch", "command": ["true"]},
            {"name": "build", "command": ["true"], "after": ["fetch"]},
            {"name": "test", "command": ["false" if broken else "true"], "after": ["build"]},
            {"name": "publish", "command": ["true"], "after": ["test"]}]})
        machine.opsctl("wait", "--graph", "nightly")
    machine.opsctl("submit", "--name", "broken", "--", "false")
    machine.opsctl("wait", "broken")
    machine.opsctl("submit", "--name", "lively", "--category", "gpu", "--shell", LOG)
    machine.opsctl("submit", "--name", "waiter", "--category", "gpu", "--", "true")
    machine.opsctl("note", "waiter", HOSTILE)
    machine.opsctl("schedule", "add", "backup", "--at", "0 3 * * 1-5", "--zone", "UTC", "--", "true")
    machine.opsctl("schedule", "run", "backup")
    until(lambda: machine.operation("lively")["state"] == "executing", "lively runs")
    web = machine.web()
    tab = browser()
    unittest.addModuleCleanup(tab.quit)
    web.open(tab)


def go(path, driver=None):
    (driver or tab).get(web.address.rstrip("/") + path)
    until(lambda: (driver or tab).find_elements(By.CSS_SELECTOR, "main[data-ready]"), f"{path} opens")


def text(driver=None):
    return (driver or tab).find_element(By.TAG_NAME, "body").text


def sees(words, driver=None):
    until(lambda: words in text(driver), f"the page shows {words!r}")


def press(*keys):
    for key in keys:
        webdriver_keys(key)


def webdriver_keys(key):
    from selenium.webdriver import ActionChains
    ActionChains(tab).send_keys(key).perform()


def button(name, within="body"):
    def find():
        for one in tab.find_elements(By.CSS_SELECTOR, f"{within} button"):
            if one.is_displayed() and one.text.strip().startswith(name):
                return one
    found = until(find, f"there is a button {name}")
    tab.execute_script("arguments[0].click()", found)


def outcome(ref, wanted):
    until(lambda: machine.operation(ref)["outcome"] == wanted, f"{ref} is {wanted}")


class Views(unittest.TestCase):
    def check(self, driver, path):
        driver.get_log("browser")
        go(path, driver)
        complaints = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE" and "#token=" not in entry["message"] and " 401 " not in entry["message"]]
        self.assertEqual(complaints, [], path)
        width, inner = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width, inner, f"{path} scrolls sideways")
        self.assertNotIn("undefined", text(driver), path)
        self.assertNotIn("NaN", text(driver), path)
        self.assertNotEqual(driver.title, "owned")
        if Axe:
            axe = Axe(driver)
            axe.inject()
            violations = axe.run()["violations"]
            self.assertEqual([(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in violations], [], path)

    def test_every_view_opens_without_an_error(self):
        for path in VIEWS:
            with self.subTest(path):
                self.check(tab, path)

    def test_every_view_fits_a_narrow_dark_screen(self):
        narrow = browser(390, 844, True)
        try:
            web.open(narrow)
            for path in VIEWS:
                with self.subTest(path):
                    self.check(narrow, path)
        finally:
            narrow.quit()

    def test_accessibility_was_checked(self):
        self.assertIsNotNone(Axe, "NOT RUN: axe-selenium-python is not installed")

    def test_empty_views_suggest_a_command(self):
        other = Machine()
        empty = other.web()
        fresh = browser()
        try:
            empty.open(fresh)
            sees("opsctl submit", fresh)
            fresh.get(empty.address + "graphs")
            sees("opsctl submit -f", fresh)
            fresh.get(empty.address + "list")
            sees("opsctl submit", fresh)
        finally:
            fresh.quit()
            other.close()

    def test_the_url_stores_filters_and_selection(self):
        go("/list?outcome=failed&name=bro")
        sees("broken")
        self.assertNotIn("lively", text())
        tab.refresh()
        sees("broken")
        go("/graph/nightly?filter=publ")
        sees("publish")
        self.assertEqual([row.text for row in tab.find_elements(By.CSS_SELECTOR, ".grid .body a.name")], ["publish"])
        go("/history/nightly?run=g2")
        self.assertEqual(tab.find_element(By.CSS_SELECTOR, "th.run button[aria-pressed=true]").text, "2")

    def test_the_history_of_a_graph_is_found_among_many_newer_operations(self):
        old = Machine()
        self.addCleanup(old.close)
        old.graph({"name": "weekly", "operations": [{"name": "report", "command": ["true"]}]})
        old.opsctl("wait", "--graph", "weekly")
        old.opsctl("suspend")
        for _ in range(9):
            old.call("Submit", {"operations": [{"command": ["true"]} for _ in range(1000)]})
        page, fresh = old.web(), browser()
        self.addCleanup(fresh.quit)
        page.open(fresh)
        fresh.get(page.address + "history/weekly")
        sees("report", fresh)

    def test_every_view_shows_the_equivalent_command(self):
        for path in VIEWS:
            go(path)
            commands = [one.text for one in tab.find_elements(By.CSS_SELECTOR, ".command code")]
            self.assertTrue(any(one.startswith("opsctl ") for one in commands), f"{path}: {commands}")

    def test_the_search_field_completes_states_queues_graphs_and_names(self):
        go("/")
        for typed, wanted in (("state:fai", "state:failed"), ("queue:def", "queue:default"), ("graph:nigh", "graph:nightly"), ("live", "lively"), ("state:failed since:", "state:failed since:1d"), ("lab", "label:")):
            field = tab.find_element(By.ID, "field")
            field.clear()
            field.send_keys(typed)
            until(lambda: wanted in tab.execute_script("return [...document.querySelectorAll('#found option')].map((one) => one.value)"), f"{typed} is completed to {wanted}")

    def test_a_reload_keeps_the_selection(self):
        go("/list")
        until(lambda: tab.find_elements(By.CSS_SELECTOR, ".grid .body input"), "rows come")
        tab.execute_script("document.querySelector('.grid .body input').click()")
        sees("1 operation selected")
        tab.refresh()
        sees("1 operation selected")
        button("Select none")

    def test_two_runs_can_be_compared(self):
        go("/history/nightly")
        chooser = until(lambda: tab.find_element(By.CSS_SELECTOR, "select[aria-label='Compare with']"), "the choice of runs appears")
        tab.execute_script("arguments[0].value = 'g1'; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", chooser)
        sees("Below, thinner: g1")
        self.assertIn("compare=g1", tab.current_url)
        button("2", "th.run")
        sees("Times of g2")
        self.assertEqual(tab.find_element(By.CSS_SELECTOR, "select[aria-label='Compare with']").get_property("value"), "")

    def test_operations_of_equal_titles_have_a_row_each_in_the_history(self):
        command = ["mkdir", f"{machine.state}/made"]
        machine.graph({"name": "twins", "operations": [{"command": command}, {"command": command}]})
        machine.opsctl("wait", "--graph", "twins")
        go("/history/twins")
        names = until(lambda: [one.text for one in tab.find_elements(By.CSS_SELECTOR, ".history tbody th")], "the run appears")
        self.assertEqual(names, [" ".join(command), " ".join(command) + " #2"])
        self.assertEqual(sorted(one.text for one in tab.find_elements(By.CSS_SELECTOR, ".history td.cell")), ["✓", "✗"])

    def test_new_rows_of_the_list_are_shown_once(self):
        from selenium.webdriver import ActionChains
        add = lambda number: machine.opsctl("submit", "--name", f"single-{number}", "--hold", "--", "true")
        rows = lambda: tab.find_elements(By.CSS_SELECTOR, ".grid .body .row")
        add(1)
        go("/list?name=single-")
        ActionChains(tab).move_to_element(until(lambda: rows()[0], "the first row comes")).perform()
        add(2)
        sees("1 new operation: show")
        ActionChains(tab).move_to_element(tab.find_element(By.CSS_SELECTOR, ".brand")).perform()
        add(3)
        until(lambda: len(rows()) == 3, "all rows come")
        self.assertNotIn("new operation", text())

    def test_rows_under_the_pointer_stay_and_new_rows_wait(self):
        from selenium.webdriver import ActionChains
        go("/")
        row = until(lambda: tab.find_element(By.CSS_SELECTOR, "table[aria-label=Running] tbody tr"), "a running operation is listed")
        ActionChains(tab).move_to_element(row).perform()
        machine.opsctl("submit", "--name", "pushy", "--", "sleep", "600")
        try:
            sees("1 new")
            self.assertNotIn("pushy", row.find_element(By.XPATH, "..").text)
            ActionChains(tab).move_to_element(tab.find_element(By.CSS_SELECTOR, ".brand")).perform()
            sees("pushy")
        finally:
            machine.opsctl("cancel", "pushy")

    def test_times_of_log_lines_are_shown_on_demand(self):
        machine.opsctl("submit", "--name", "talker", "--shell", "while sleep 0.2; do date; done")
        try:
            go("/operation/talker")
            until(lambda: tab.find_elements(By.CSS_SELECTOR, ".log [data-at]"), "lines are added to the open log")
            button("Times")
            self.assertTrue(tab.find_elements(By.CSS_SELECTOR, ".log.times"))
        finally:
            machine.opsctl("cancel", "--wait", "talker")
        go("/operation/talker")
        until(lambda: tab.find_elements(By.CSS_SELECTOR, ".log [data-at]"), "the log of an ended attempt has times too")

    def test_a_long_log_is_read_in_parts(self):
        machine.opsctl("submit", "--name", "long", "--", "seq", "50000")
        machine.opsctl("wait", "long")
        lines = lambda: [int(line) for line in tab.execute_script(
            "return [...document.querySelectorAll('.log .block > div')].map((line) => line.textContent)")]
        go("/operation/long")
        until(lambda: lines()[-1] == 50000, "the end of the log is shown")
        button("From the beginning")
        until(lambda: lines()[0] == 1 and 20000 <= len(lines()) < 50000, "the first lines are shown")
        before = lines()[-1]
        button("Next lines")
        until(lambda: lines()[0] >= before > 1, "the next lines are shown")
        button("To the end")
        until(lambda: lines()[-1] == 50000, "the end is shown again")

    def test_a_log_that_is_quiet_for_long_continues(self):
        machine.opsctl("submit", "--name", "quiet", "--shell", "echo early; sleep 20; echo later; sleep 600")
        try:
            go("/operation/quiet")
            until(lambda: tab.find_element(By.CSS_SELECTOR, ".log").text == "early", "the log opens")
            until(lambda: tab.find_element(By.CSS_SELECTOR, ".log").text.split("\n") == ["early", "later"], "the log continues")
        finally:
            machine.opsctl("cancel", "quiet")

    def test_the_end_of_an_attempt_keeps_the_position_in_its_log_and_the_matches(self):
        stop = f"{machine.state}/stop"
        machine.opsctl("submit", "--name", "ending", "--shell", f"seq 500; until [ -e {stop} ]; do sleep 0.1; done; echo last")
        go("/operation/ending")
        log = until(lambda: "500" in tab.find_element(By.CSS_SELECTOR, ".log").text and tab.find_element(By.CSS_SELECTOR, ".log"), "the log appears")
        tab.find_element(By.CSS_SELECTOR, "input[aria-label='Find in the output']").send_keys("250", Keys.ENTER)
        is_shown = lambda: tab.execute_script("""
            const [log, mark] = [arguments[0], arguments[0].querySelector("mark")].map((one) => one.getBoundingClientRect());
            return log.top < mark.top && mark.bottom < log.bottom""", log)
        until(is_shown, "the match is shown")
        open(stop, "w").close()
        until(lambda: tab.find_elements(By.CSS_SELECTOR, ".state.tone-succeeded"), "the end is shown")
        until(lambda: "last" in log.text, "the log is complete")
        self.assertTrue(is_shown())

    def test_find_accepts_any_text(self):
        machine.opsctl("submit", "--name", "turkish", "--", "echo", "İİİİ (izmir) Izmir")
        machine.opsctl("wait", "turkish")
        go("/operation/turkish")
        marks = lambda: [one.text for one in tab.find_elements(By.CSS_SELECTOR, ".log mark")]
        field = until(lambda: tab.find_element(By.CSS_SELECTOR, "input[aria-label='Find in the output']"), "the log appears")
        for typed, wanted in (("izmir", ["izmir", "Izmir"]), ("(izm", ["(izm"]), ("İ", ["İ"] * 4)):
            field.clear()
            field.send_keys(typed, Keys.ENTER)
            until(lambda: marks() == wanted, f"{wanted} are marked")

    def test_every_attempt_can_be_opened(self):
        machine.opsctl("submit", "--name", "often", "--retry", "7", "--retry-backoff", "10ms", "--retry-max", "10ms", "--shell", "echo attempt $OPS_ATTEMPT; false")
        machine.opsctl("wait", "often")
        go("/operation/often")
        link = until(lambda: tab.find_element(By.CSS_SELECTOR, "table[aria-label=Attempts]").find_element(By.LINK_TEXT, "1"), "the attempts are listed")
        tab.execute_script("arguments[0].click()", link)
        until(lambda: tab.find_element(By.CSS_SELECTOR, ".log").text == "attempt 1", "the output of the first attempt appears")
        self.assertEqual(tab.find_element(By.CSS_SELECTOR, ".tabs [aria-selected=true]").text, "Attempt 1")

    def test_a_back_off_is_no_running_time(self):
        machine.opsctl("submit", "--name", "patient", "--retry", "1", "--retry-backoff", "1h", "--", "false")
        self.addCleanup(machine.opsctl, "cancel", "patient")
        until(lambda: machine.operation("patient")["state"] == "ready" and machine.operation("patient")["startedAt"], "the back-off begins")
        go("/list?name=patient")
        cells = until(lambda: [one.text for one in tab.find_elements(By.CSS_SELECTOR, ".grid .body .row [role=gridcell]")], "the row comes")
        self.assertEqual(cells[7], "")
        go("/history/patient")
        sees("patient")

    def test_a_command_quotes_a_name_from_the_address(self):
        go("/history/a%20b%3B%20it%27s")
        sees(r"opsctl submit --name 'a b; it'\''s' -- true")

    def test_a_view_stays_at_its_operation_and_graph_when_their_names_are_used_again(self):
        machine.opsctl("suspend")
        self.addCleanup(machine.opsctl, "resume")
        for path, names in (("/operation/reused", ["reused"]), ("/graph/reused", ["one", "two"])):
            submit = lambda name: machine.call("Submit", {"name": "reused", "operations": [{"name": name, "command": ["true"]}]})["graph"]
            first = submit(names[0])
            go(path)
            sees(first)
            second = submit(names[-1])
            machine.opsctl("cancel", "--graph", first)
            sees("cancelled")
            self.assertNotIn(second, text())
            machine.opsctl("cancel", "--graph", second)

    def test_a_missing_operation_shows_an_error(self):
        go("/operation/nothing-like-this")
        sees("There is no operation nothing-like-this.")
        go("/operation/%FF")
        sees("There is no operation %FF.")

    def test_filters_that_cannot_be_applied_show_an_error(self):
        go("/list?since=nonsense")
        sees("The filter since takes a duration")
        go("/list?queue=a&queue=b")
        sees("Only one filter queue is possible")
        # An operation with an older name may be behind the thousands of other tests.
        machine.opsctl("submit", "--name", "recent", "--", "true")
        go("/list?since=1d12h&name=rece")
        sees("recent")
        sees("opsctl ls has no filters name and since")
        go("/list?outcome=failed&outcome=succeeded&graph=nightly")
        sees("opsctl ls --outcome failed --outcome succeeded --graph nightly")
        until(lambda: len(tab.find_elements(By.CSS_SELECTOR, ".grid .body .row")) == 4, "both outcomes are listed")

    def test_markup_in_a_note_is_shown_as_text(self):
        go("/operation/waiter")
        sees(HOSTILE)
        self.assertNotEqual(tab.title, "owned")

    def test_a_log_shows_colours_and_ignores_other_control_sequences(self):
        go("/operation/lively")
        log = until(lambda: "written" in tab.find_element(By.CSS_SELECTOR, ".log").text and tab.find_element(By.CSS_SELECTOR, ".log"), "the log appears")
        self.assertEqual(log.text.split("\n"), ["red plain", "<b>not bold</b>", "written", "to stderr"])
        self.assertEqual(log.find_element(By.CSS_SELECTOR, ".f1").text, "red")
        self.assertEqual(log.find_elements(By.TAG_NAME, "b"), [])
        button("Errors")
        sees("Standard error is in the same output.")

    def test_keys(self):
        go("/")
        press("g", "l")
        until(lambda: tab.current_url.endswith("/list"), "g l goes to the list")
        until(lambda: tab.find_elements(By.CSS_SELECTOR, ".grid .body .row"), "rows come")
        press("j", "j", "x")
        sees("1 operation selected")
        press(Keys.ENTER)
        until(lambda: "/operation/" in tab.current_url, "Enter opens")
        until(lambda: tab.switch_to.active_element.get_attribute("id") == "view", "the new view has the focus")
        press("?")
        sees("hold or resume")
        press(Keys.ESCAPE)
        press("/", *"state:failed", Keys.ENTER)
        until(lambda: tab.current_url.endswith("/list?outcome=failed"), "the field filters")


    def test_the_skip_link_moves_the_focus_and_keeps_the_view(self):
        go("/list?outcome=failed")
        before = tab.execute_script("return history.length")
        tab.execute_script("document.querySelector('.skip').click()")
        self.assertEqual(tab.switch_to.active_element.get_attribute("id"), "view")
        self.assertTrue(tab.current_url.endswith("/list?outcome=failed"))
        self.assertEqual(tab.execute_script("return history.length"), before)


class Actions(unittest.TestCase):
    def test_a_new_operation_appears_without_a_reload(self):
        go("/")
        machine.opsctl("submit", "--name", "newcomer", "--", "sleep", "600")
        sees("newcomer")
        machine.opsctl("cancel", "newcomer")

    def test_cancel_asks_first_and_names_the_operations_that_will_be_skipped(self):
        machine.graph({"name": "chain", "operations": [
            {"name": "first", "command": ["sleep", "600"]}, {"name": "second", "command": ["true"], "after": ["first"]}]})
        go("/operation/first")
        machine.opsctl("submit", "--name", "third", "--after", "second", "--", "true")
        button("Cancel")
        sees("2 operations behind it will be skipped: second, third")
        self.assertIsNone(machine.operation("first")["outcome"])
        button("Cancel", "dialog")
        outcome("first", "cancelled")

    def test_cancel_of_a_group_names_its_children(self):
        machine.graph({"name": "boxed", "operations": [
            {"name": "box", "operations": [{"name": "inner", "command": ["sleep", "600"]}]},
            {"name": "outer", "command": ["true"], "after": ["box"]}]})
        go("/operation/box")
        button("Cancel")
        sees("1 operation inside it will be cancelled: inner")
        sees("1 operation behind it will be skipped: outer")
        button("Cancel", "dialog")
        outcome("inner", "cancelled")

    def test_retry(self):
        go("/operation/broken")
        before = machine.operation("broken")["run"]
        button("Retry")
        until(lambda: machine.operation("broken")["run"] > before, "a new run starts")

    def test_hold_and_resume(self):
        go("/operation/waiter")
        button("Hold")
        until(lambda: machine.operation("waiter")["held"], "it is held")
        button("Resume")
        until(lambda: not machine.operation("waiter")["held"], "it is resumed")

    def test_priority_and_note(self):
        go("/operation/waiter")
        button("Priority")
        field = until(lambda: tab.find_element(By.CSS_SELECTOR, "dialog input"), "the dialog opens")
        field.clear()
        field.send_keys("7")
        button("Set the priority", "dialog")
        until(lambda: machine.operation("waiter")["priority"] == 7, "the priority is set")
        machine.opsctl("submit", "--name", "noted", "--hold", "--", "true")
        go("/operation/noted")
        button("Note")
        until(lambda: tab.find_element(By.CSS_SELECTOR, "dialog input"), "the dialog opens").send_keys("look at this")
        button("Store the note", "dialog")
        until(lambda: machine.operation("noted")["note"] == "look at this", "the note is stored")

    def test_what_if(self):
        go("/operation/waiter")
        button("What if")
        until(lambda: "If you did" in tab.find_element(By.TAG_NAME, "dialog").text, "the forecast appears")
        button("Close", "dialog")

    def test_only_an_executing_dependency_has_a_forecast(self):
        machine.graph({"name": "queued", "operations": [
            {"name": "one", "command": ["sleep", "600"]}, {"name": "two", "command": ["true"], "after": ["one"]},
            {"name": "three", "command": ["true"], "after": ["two"]}]})
        self.addCleanup(machine.opsctl, "cancel", "one")
        go("/operation/two")
        sees("What if: finish")
        go("/operation/three")
        sees("must succeed first")
        self.assertNotIn("What if", text())

    def test_a_schedule_can_run_now_and_can_be_paused(self):
        go("/schedule/backup")
        sees("Runs next")
        runs = lambda: machine.call("ScheduleRuns", {"name": "backup"})["runs"]
        before = len(runs())
        button("Run now")
        button("Run now", "dialog[open]")
        until(lambda: len(runs()) == before + 1, "the run is recorded")
        button("Pause")
        button("Pause", "dialog[open]")
        sees("Paused: nothing runs")
        button("Resume")
        sees("Runs next")

    def test_a_schedule_that_an_event_starts_has_no_backfill_and_says_when_it_runs(self):
        machine.opsctl("schedule", "add", "watcher", "--on-path", f"{machine.state}/*.new", "--", "true")
        self.addCleanup(machine.opsctl, "schedule", "rm", "watcher")
        go("/schedules")
        sees("by event")
        go("/schedule/watcher")
        sees(f"ts next run is due when a file of {machine.state}/*.new is new or changed.")
        self.assertNotIn("Backfill", text())

    def test_runs_that_a_trigger_starts_together_have_a_record_each(self):
        folder = f"{machine.state}/drops"
        os.mkdir(folder)
        for number in range(20):
            open(f"{folder}/{number}", "w").close()
        machine.opsctl("schedule", "add", "drops", "--on-path", f"{folder}/*", "--settle", "0s", "--", "true")
        self.addCleanup(machine.opsctl, "schedule", "rm", "drops")
        until(lambda: len(machine.call("ScheduleRuns", {"name": "drops"})["runs"]) == 20, "each file starts a run")
        go("/schedule/drops")
        records = lambda: tab.find_elements(By.CSS_SELECTOR, "table[aria-label=Records] tbody tr")
        until(lambda: len(records()) == 20, "each run has a record")
        # The records are updated in place.
        machine.opsctl("schedule", "run", "drops")
        until(lambda: len(records()) == 21, "the next run has a record too")

    def test_a_backfill_shows_its_instants_before_it_starts(self):
        machine.opsctl("schedule", "add", "hourly", "--at", "0 * * * *", "--zone", "UTC", "--", "true")
        self.addCleanup(machine.opsctl, "schedule", "rm", "hourly")
        go("/schedule/hourly")
        button("Backfill")
        until(lambda: "opsctl schedule backfill hourly" in tab.find_element(By.TAG_NAME, "dialog").text, "the preview of a week appears")
        period = """const [from, to] = document.querySelectorAll("dialog input");
            from.value = "2026-01-01T00:00"; to.value = arguments[0]; to.dispatchEvent(new Event("change"));"""
        tab.execute_script(period, "2026-03-01T00:00")
        sees("More than 1,000 instants cannot be started together")
        tab.execute_script(period, "2026-01-01T02:30")
        until(lambda: "3 runs of 3 instants" in tab.find_element(By.TAG_NAME, "dialog").text, "the preview of three hours appears")
        button("Start these runs", "dialog[open]")
        sees("3 runs started")

    def test_a_key_acts_on_the_focused_operation(self):
        machine.opsctl("submit", "--name", "focused", "--hold", "--", "true")
        go("/")
        link = until(lambda: tab.find_element(By.LINK_TEXT, "focused"), "the operation is listed")
        tab.execute_script("arguments[0].focus()", link)
        press("h")
        until(lambda: not machine.operation("focused")["held"], "it is resumed")

    def test_a_held_operation_of_a_graph_is_shown_and_resumed_by_a_key(self):
        machine.graph({"name": "paused", "operations": [
            {"name": "still", "command": ["true"], "held": True},
            {"name": "later", "command": ["true"], "notBefore": "2099-01-01T00:00:00Z"}]})
        self.addCleanup(machine.opsctl, "cancel", "later")
        go("/graphs")
        sees("1 scheduled")
        sees("1 held")
        go("/graph/paused")
        row, other = until(lambda: tab.find_elements(By.CSS_SELECTOR, ".grid .body .row"), "the operations are listed")
        self.assertIn("held", row.text)
        self.assertIn("scheduled", other.text)
        sees("⏸ held 1")
        sees("◷ scheduled 1")
        tab.execute_script("arguments[0].focus()", row)
        press("h")
        until(lambda: not machine.operation("still")["held"], "it is resumed")

    def test_an_action_on_many_operations_shows_their_number_first(self):
        for number in range(5):
            machine.opsctl("submit", "--name", f"many-{number}", "--hold", "--label", "batch=many", "--", "true")
        go("/list?label=batch%3Dmany")
        until(lambda: len(tab.find_elements(By.CSS_SELECTOR, ".grid .body .row")) == 5, "five rows")
        tab.execute_script("document.querySelector('.grid .body input').click()")
        button("Select all that match")
        sees("5 operations selected")
        button("Cancel 5 operations", ".bulk")
        sees("Cancel 5 operations?")
        button("Cancel 5 operations", "dialog")
        for number in range(5):
            outcome(f"many-{number}", "cancelled")

    def test_a_read_only_page_has_no_buttons(self):
        watching = machine.web("--read-only", "--port", "0")
        fresh = browser()
        try:
            watching.open(fresh)
            fresh.get(watching.address + "operation/lively")
            sees("Running for", fresh)
            sees("read-only", fresh)
            self.assertFalse([one for one in fresh.find_elements(By.TAG_NAME, "button") if one.text in ("Cancel", "Hold", "Note")])
        finally:
            fresh.quit()

    def test_the_page_reconnects_to_a_restarted_daemon_and_misses_nothing(self):
        go("/")
        machine.stop()
        sees("reconnecting")
        machine.start()
        machine.opsctl("submit", "--name", "meanwhile", "--", "sleep", "600")
        sees("meanwhile")
        sees("live")
        machine.opsctl("cancel", "meanwhile")

    def test_a_list_that_was_opened_during_an_outage_is_read_whole(self):
        machine.call("Submit", {"name": "bulk", "operations": [{"command": ["true"], "held": True} for _ in range(300)]})
        self.addCleanup(machine.opsctl, "cancel", "--graph", "bulk")
        go("/")
        machine.stop()
        sees("reconnecting")
        tab.execute_script("document.querySelector('nav a[href=\"/list\"]').click()")
        sees("Try again")
        machine.start()
        until(lambda: tab.find_elements(By.CSS_SELECTOR, ".grid .body .row"), "rows come")
        scroll = "scrollTo(0, 250 * 28); return document.querySelector('.grid .body [aria-rowindex=\"260\"]')"
        until(lambda: tab.execute_script(scroll), "rows beyond the first page come")

    def test_the_page_is_live_again_after_a_restart_without_events(self):
        go("/")
        connection = lambda: tab.find_element(By.CSS_SELECTOR, ".connection").text
        until(lambda: connection() == "live", "the page is live")
        machine.stop()
        until(lambda: "reconnecting" in connection(), "the page reports the loss")
        machine.start()
        until(lambda: connection() == "live", "the page is live again")

    def test_a_graph_that_changes_before_the_first_message_is_read_again(self):
        machine.graph({"name": "early", "operations": [{"name": "short-lived", "command": ["sleep", "600"]}]})
        fresh = browser()
        self.addCleanup(fresh.quit)
        web.open(fresh)
        # The test sends the first message itself.
        source = "window.EventSource = class { constructor() { window.source = this; } addEventListener() {} close() {} };"
        fresh.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        go("/graph/early", fresh)
        sees("0 of 1 operation have ended", fresh)
        until(lambda: fresh.execute_script("return Boolean(window.source?.onmessage)"), "the page opens the stream")
        machine.opsctl("cancel", "short-lived")
        outcome("short-lived", "cancelled")
        last = machine.status()["lastSeq"]
        message = json.dumps({"from": last + 1, "to": last, "operations": [], "graphs": []})
        fresh.execute_script("window.source.onmessage({ data: arguments[0] })", message)
        sees("All 1 operation have ended", fresh)


class Attackers(unittest.TestCase):
    def test_a_page_of_another_site_has_no_access(self):
        attack = """<!doctype html><body><script>
        const target = "%s", results = [];
        const body = JSON.stringify({method: "Cancel", parameters: {selection: {refs: ["lively"]}}});
        const attempts = [
          fetch(target + "call", {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body}),
          fetch(target + "call", {method: "POST", credentials: "include", headers: {"Content-Type": "application/json"}, body}),
          fetch(target + "about", {credentials: "include"}).then((r) => r.text()).then((t) => { results.push("read " + t); }),
          new Promise((resolve) => { const s = new EventSource(target + "events", {withCredentials: true}); s.onmessage = () => { results.push("events"); resolve(); }; s.onerror = () => { s.close(); resolve(); }; }),
          new Promise((resolve) => { const s = document.createElement("script"); s.src = target + "app.js"; s.onload = () => { results.push("script"); resolve(); }; s.onerror = resolve; document.body.append(s); }),
          new Promise((resolve) => { const f = document.createElement("iframe"); f.name = "f"; f.onload = () => { try { results.push("frame " + f.contentDocument.body.innerText); } catch { } resolve(); }; f.src = target; document.body.append(f); }),
        ];
        Promise.allSettled(attempts).then(() => { document.title = "done " + results.join(); });
        const form = document.createElement("form"); form.method = "POST"; form.enctype = "text/plain"; form.target = "f"; form.action = target + "call";
        const field = document.createElement("input"); field.name = body; form.append(field); document.body.append(form);
        setTimeout(() => form.submit(), 500);
        </script>"""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write((attack % web.address).encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            # The browser has a session, which the other site tries to use.
            for host in ("127.0.0.1", "localhost"):
                tab.get(f"http://{host}:{server.server_port}/")
                until(lambda: tab.title.startswith("done"), "the attack ends")
                self.assertEqual(tab.title.strip(), "done")
            time.sleep(1)
            self.assertEqual(machine.operation("lively")["state"], "executing")
        finally:
            server.shutdown()
            server.server_close()

    def test_another_host_name_for_this_address_is_refused(self):
        rebound = browser(1000, 800, False, "--host-resolver-rules=MAP rebound.example 127.0.0.1")
        try:
            rebound.get(f"http://rebound.example:{web.port}/{web.link[len(web.address):]}")
            sees("this is not the host that opsd-web listens at", rebound)
            answer = rebound.execute_async_script("const done = arguments[0]; fetch('/session', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then((r) => done(r.status), () => done('failed'))")
            self.assertEqual(answer, 403)
        finally:
            rebound.quit()

    def test_a_link_works_once(self):
        fresh = browser()
        try:
            link = web.link
            web.open(fresh)
            self.assertNotIn("token", fresh.current_url)
            self.assertEqual(fresh.execute_script("return document.cookie"), "")
            self.assertIsNone(fresh.execute_script("return sessionStorage.getItem('tried')"))
            other = browser()
            try:
                other.get(link)
                sees("this link was used before or is unknown", other)
                self.assertNotIn("Start a new one", text(other))
                other.get(web.address)
                sees("Open the link that the terminal shows", other)
            finally:
                other.quit()
        finally:
            fresh.quit()


class Load(unittest.TestCase):
    def test_a_hundred_tabs_do_not_slow_the_daemon_down(self):
        """Each tab reads the event stream and, after changes, sends the calls of the view Now."""
        stop = threading.Event()
        failures, messages = [], [0]
        calls = [("Status", {}), ("List", {"selection": {"state": "executing"}, "limit": 60, "newest": True}), ("List", {"selection": {"state": "ready"}, "limit": 100}), ("ListCategories", {})]

        def one_tab():
            headers = {"Authorization": f"Bearer {web.bearer}"}
            try:
                events = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
                events.request("GET", "/events", headers=headers)
                stream = events.getresponse()
                asking = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
                last, expected = 0, None
                while not stop.is_set():
                    line = stream.readline()
                    if not line.startswith(b"data: {\"from\""):
                        continue
                    summary = json.loads(line[6:])
                    messages[0] += 1
                    if expected is not None and summary["from"] != expected:
                        failures.append(f"missed events: {summary['from']} after {expected - 1}")
                    expected = summary["to"] + 1
                    if time.monotonic() - last < 0.7:
                        continue
                    last = time.monotonic()
                    for method, parameters in calls:
                        asking.request("POST", "/call", json.dumps({"method": method, "parameters": parameters}), {**headers, "Content-Type": "application/json"})
                        answer = asking.getresponse()
                        answer.read()
                        if answer.status != 200:
                            failures.append(f"{method}: {answer.status}")
                events.close()
                asking.close()
            except Exception as error:
                if not stop.is_set():
                    failures.append(repr(error))

        def events():
            number = 0
            while not stop.is_set():
                number += 1
                machine.call("Submit", {"operations": [{"command": ["true"]} for _ in range(200)]})
                until(lambda: stop.is_set() or machine.status()["counts"]["pending"] + machine.status()["counts"]["ready"] < 1000, "the backlog shrinks")

        tabs = [threading.Thread(target=one_tab, daemon=True) for _ in range(100)]
        source = threading.Thread(target=events, daemon=True)
        source.start()
        without = self.p99()
        for thread in tabs:
            thread.start()
        first = machine.status()["lastSeq"]
        began = time.monotonic()
        p99 = self.p99()
        rate = (machine.status()["lastSeq"] - first) / (time.monotonic() - began)
        stop.set()
        source.join(60)
        for thread in tabs:
            thread.join(60)
        print(f"100 tabs: {rate:.0f} events/s, {messages[0]} messages, opsd p99 {p99:.1f} ms ({without:.1f} ms without tabs), opsd-web {web.memory() / 1048576:.1f} MiB", file=sys.stderr)
        self.assertEqual(failures[:5], [])
        self.assertLess(web.memory(), 64 << 20)
        # On a busy machine the response times are long even without tabs. Then tabs may make them at most half as long again.
        if without > 33:
            print("NOT CHECKED: the limit of 50 ms; this machine is too busy", file=sys.stderr)
        self.assertLess(p99, max(50, 1.5 * without))

    def p99(self):
        """Returns the 99th percentile of the daemon's response times. A separate process measures it, because the threads here delay each other."""
        probe = subprocess.run([sys.executable, "-B", f"{sys.path[0]}/probe.py", machine.environment["OPS_SOCKET"], "15"], capture_output=True, text=True, timeout=120, check=True)
        return float(probe.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
