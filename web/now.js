// The view Now: operations that run, start next or need attention.

import { call } from "./api.js";
import { command, empty, h, update } from "./dom.js";
import { graphLink, link, mark, problem, refresher, state, steady, table, time } from "./parts.js";
import { absolute, duration, median, runTime } from "./words.js";

/** Outcomes that need attention. */
const failures = "failed,timedOut,interrupted";

export function open(main) {
  let data = null;
  const medians = new Map();
  const keep = { running: steady("Running"), next: steady("Next in line"), attention: steady("Needs attention") };
  const refresh = refresher(load, 700);
  const clock = setInterval(() => data && !document.hidden && draw(), 1000);

  async function load() {
    try {
      const [status, line, running, { categories }, schedules, { executors }, bad] = await Promise.all([
        call("Status"), waiting(),
        call("List", { selection: { state: "executing" }, limit: 60, newest: true }),
        call("ListCategories"),
        call("ListSchedules"),
        call("ListExecutors"),
        call("List", { selection: { outcome: failures }, limit: 200, newest: true }),
      ]);
      const byId = (a, b) => a.id - b.id;
      const reasons = await Promise.all(line.map((row) => call("Why", { ref: String(row.id) }).catch(() => null)));
      const yesterday = Date.now() - 86400e3;
      data = {
        status, categories, executors,
        schedules: schedules.schedules.filter((schedule) => schedule.next).sort((a, b) => Date.parse(a.next) - Date.parse(b.next)).slice(0, 8),
        running: running.operations.filter((row) => !row.isGroup).sort(byId),
        next: line.map((row, index) => ({ id: row.id, row, reason: reasons[index]?.waitingFor[0]?.text ?? "starts as soon as a slot is free" })),
        attention: bad.operations.filter((row) => Date.parse(row.finishedAt) > yesterday && !row.isGroup)
          .sort((a, b) => Date.parse(b.finishedAt) - Date.parse(a.finishedAt)),
      };
      data.failure = null;
    } catch (error) {
      data = { ...(data ?? {}), failure: error };
    }
    draw();
    learn();
  }

  /** Reads the usual duration of running operations, once for each name. */
  async function learn() {
    const unknown = (data.running ?? []).filter((row) => row.name && !medians.has(row.name));
    if (!unknown.length || data.failure) return;
    for (const row of unknown) medians.set(row.name, null);
    const { operations } = await call("List", { selection: { outcome: "succeeded" }, limit: 500, newest: true }).catch(() => ({ operations: [] }));
    for (const row of unknown) {
      medians.set(row.name, median(operations.filter((other) => other.name === row.name).map(runTime)));
    }
    draw();
  }

  function progress(row) {
    if (row.progress?.total) {
      const share = Math.min(1, row.progress.done / row.progress.total);
      return h("div.progress", {}, bar(share), h("span", {}, `${Math.round(share * 100)} %`));
    }
    const elapsed = runTime(row), usual = medians.get(row.name);
    if (!usual) return duration(elapsed);
    const share = Math.min(1, elapsed / usual);
    return h("div.progress", { title: `usually takes ${duration(usual)}` }, bar(share, elapsed > usual), h("span", {}, duration(elapsed)));
  }

  function draw() {
    const banner = problem(data.failure);
    if (!data.status) return update(main, banner);
    const { status, categories, schedules } = data;
    const running = keep.running(data.running.slice(-40)), next = keep.next(data.next);
    const attention = keep.attention(data.attention.slice(0, 12));
    const troubles = troublesOf(status, data.executors);
    const { counts } = status;
    update(main,
      h("h1.unseen", {}, "Now"), banner,
      status.suspended ? h("p.banner.warn", {}, "The daemon is suspended: nothing new starts. ", command("opsctl resume")) : null,
      h("div.summary", {},
        [["executing", counts.executing, "running"], ["ready", counts.ready, "ready"], ["pending", counts.pending, "waiting"], ["finished", counts.finished, "finished"]]
          .map(([name, number, word]) => h("a", { href: `/list?state=${name}` }, h("b", {}, number.toLocaleString()), " ", h("span", {}, word)))),
      h("div.columns", {},
        h("div", {},
          h("section", {}, h("h2", {}, "Running ", h("span.muted", {}, counts.executing ? counts.executing.toLocaleString() : ""), running.note),
            running.rows.length ? table("Running", [["Name"], ["Graph", "c-graph wide"], ["Queue", "c-user wide"], ["User", "c-user wide"], ["Time", "c-time-wide number"]],
              running.rows.map((row) => ({ key: `r${row.id}`, cells: [
                [mark(row), link(row), row.statusText ? h("span.reason", {}, ` ${row.statusText}`) : null],
                graphLink(row), row.queue, row.user, progress(row)] })))
              : empty("Nothing is running. Start something with", "opsctl submit -- sleep 60"),
            counts.executing > 40 ? h("p", {}, h("a.link", { href: "/list?state=executing" }, `all ${counts.executing.toLocaleString()}`)) : null),
          h("section", {}, h("h2", {}, "Next in line", next.note),
            next.rows.length ? table("Next in line", [["Name", "c-graph"], ["Graph", "c-time wide"], ["Why it waits"]],
              next.rows.map(({ row, reason }) => ({ key: `n${row.id}`, cells: [
                [mark(row), link(row)], graphLink(row), h("span.reason", { title: reason }, reason)] })))
              : empty("Nothing waits.")),
          h("section", {}, h("h2", {}, "Needs attention", attention.note),
            troubles.map(([words, line]) => h("p.banner", { role: "alert" }, words, " ", command(line))),
            attention.rows.length ? table("Needs attention", [["State", "c-state"], ["Name", "c-graph"], ["Cause", "wide"], ["When", "c-time number"]],
              attention.rows.map((row) => ({ key: `a${row.id}`, cells: [state(row), link(row), h("span.reason", { title: row.cause ?? "" }, row.cause ?? ""), time(row.finishedAt)] })))
              : troubles.length ? null : empty("Nothing failed during the last day."),
            data.attention.length > 12
              ? h("p", {}, h("a.link", { href: `/list?outcome=${failures}` }, `and ${data.attention.length - 12} more`)) : null)),
        h("div", {},
          h("section", {}, h("h2", {}, "Pool and queues"),
            meter("pool", status.slotsUsed, status.workers),
            status.queues.map((queue) => meter(queue.name, queue.executing, queue.limit, queue.suspended ? "suspended" : queue.ready + queue.pending ? `${queue.ready + queue.pending} waiting` : null, `/list?queue=${encodeURIComponent(queue.name)}`))),
          h("section", {}, h("h2", {}, "Categories"),
            categories.length ? categories.slice(0, 30).map((category) => meter(category.name, used(category, data.running), category.capacity,
              category.waiting.length ? `${category.waiting.length} waiting` : null,
              category.holders.length ? `/operation/${category.holders[0]}` : null))
              : empty("No operation names a category."),
            categories.length > 30 ? h("p.muted", {}, `and ${categories.length - 30} more`) : null),
          h("section", {}, h("h2", {}, "Next schedules"),
            schedules.length ? h("dl.facts", {}, schedules.map((schedule) => [
              h("dt", {}, h("a", { href: `/schedule/${encodeURIComponent(schedule.name)}` }, schedule.name)), h("dd", {}, time(schedule.next))]))
              : empty("No schedule has a next run.")),
          h("section", {}, h("h2", {}, "Daemon"),
            h("dl.facts", {}, h("dt", {}, "version"), h("dd", {}, status.version), h("dt", {}, "started"), h("dd", {}, time(status.startedAt)),
              h("dt", {}, "in the terminal"), h("dd", {}, command("opsctl top")))))));
  }

  return {
    title: "Now", ready: refresh.run(),
    changed: refresh.again,
    leave() { refresh.end(); clearInterval(clock); },
  };
}

/** Returns ten waiting operations: ready ones by their priority, as far as a hundred show it, then pending ones. */
async function waiting() {
  const [ready, pending] = await Promise.all([["ready", 100], ["pending", 10]]
    .map(async ([state, limit]) => (await call("List", { selection: { state }, limit })).operations.filter((row) => !row.isGroup)));
  ready.sort((a, b) => b.effectivePriority - a.effectivePriority || a.id - b.id);
  return [...ready, ...pending].slice(0, 10);
}

/** Returns problems of the daemon, storage, runner and executors, each with a command that shows details. */
function troublesOf(status, executors) {
  const detail = status.detail ? ` (${status.detail})` : "";
  return [
    status.state === "draining" ? ["opsd is stopping: nothing new starts.", "opsctl status"] : null,
    status.state === "storageUnavailable" ? [`Storage is unavailable${detail}: nothing starts, and no change is stored.`, "journalctl -u opsd"] : null,
    status.runnerAnswers ? null : [`The runner does not answer${detail}: nothing starts, ends or is cancelled until it does.`, "journalctl -u opsd-runner"],
    // The package opsd-transfer need not be installed.
    ...executors.filter(({ state, kind, inFlight }) => state !== "connected" && (kind !== "transfer" || inFlight))
      .map(({ name, since }) => [`Executor ${name} has been disconnected since ${absolute(since)}: its operations wait.`, "opsctl executor ls"]),
  ].filter(Boolean);
}

/** Returns the number of used units of a category, counted from the running operations. */
function used(category, running) {
  let units = 0;
  for (const row of running) {
    for (const use of row.categories) if (use.name === category.name) units += use.mode === "exclusive" ? category.capacity : use.mode === "units" ? use.units : 1;
  }
  return Math.max(units, category.holders.length);
}

function bar(share, isOver = false) {
  return h("div.bar", { class: isOver ? "over" : "" }, h("b", { vars: { "--share": `${share * 100}%` } }));
}

function meter(name, used, limit, note, href) {
  const text = limit === null || limit === undefined || limit < 0 ? used.toLocaleString() : `${used.toLocaleString()} of ${limit.toLocaleString()}`;
  return h("div.meter", { "data-key": `m-${name}` },
    href ? h("a", { href }, name) : h("span", {}, name),
    h("span.muted", {}, note ? `${text}, ${note}` : text),
    bar(limit > 0 ? Math.min(1, used / limit) : used ? 1 : 0));
}
