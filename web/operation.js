// The view of one operation: why it waits, its attempts, its output, and actions.

import { call } from "./api.js";
import { command, h, update } from "./dom.js";
import { act, actions, verbOf, whatIf } from "./dialogs.js";
import { logView } from "./log.js";
import { problem, refresher, state, table, time } from "./parts.js";
import { absolute, duration, median, quoted, relative, runTime, standing, title } from "./words.js";
import { setParameters } from "./app.js";

/** Maximum number of other operations whose names and states are shown. */
const mostNamed = 200;

export function open(main, [ref], parameters) {
  let operation = null, attempts = [], reasons = [], names = new Map(), usual = null, failure = null;
  let log = null, logKey = null, isFollowed = false;
  let attempt = Number(parameters.get("attempt")) || null, isError = parameters.get("output") === "stderr";
  const head = h("div"), output = h("section", { "aria-label": "Output" }), tabs = h("div.tabs", { role: "tablist", "aria-label": "Attempts" }), pane = h("div"), rest = h("div");
  output.append(tabs, pane);
  main.replaceChildren(head, output, rest);

  const refresh = refresher(async () => {
    try {
      // Another operation may get the name later.
      const shown = await call("Show", { ref: operation ? String(operation.id) : ref });
      const isFirst = !operation;
      ({ operation, attempts } = shown);
      reasons = operation.state === "finished" || operation.state === "executing" ? [] : (await call("Why", { ref: String(operation.id) })).waitingFor;
      const others = [...new Set([...operation.dependencies.map((one) => one.id), ...reasons.flatMap((reason) => reason.ids)])]
        .filter((id) => names.get(id)?.state !== "finished").slice(0, mostNamed);
      if (others.length) {
        const { operations } = await call("List", { selection: { refs: others.map(String) }, limit: mostNamed }).catch(() => ({ operations: [] }));
        for (const row of operations) names.set(row.id, row);
      }
      failure = null;
      if (isFirst && operation.name) learn();
    } catch (error) {
      failure = error;
    }
    draw();
  }, 700);
  const clock = setInterval(() => operation?.state === "executing" && !document.hidden && draw(), 1000);

  /** Reads the usual duration of operations with this name. */
  async function learn() {
    const { operations } = await call("List", { selection: { outcome: "succeeded" }, limit: 500, newest: true }).catch(() => ({ operations: [] }));
    usual = median(operations.filter((row) => row.name === operation.name && row.id !== operation.id).map(runTime));
    draw();
  }

  function sentence() {
    const row = operation;
    const usually = usual ? `; usually takes ${duration(usual)}` : "";
    if (row.state === "finished") {
      const took = runTime(row);
      return `${standing(row).word}${row.cause ? ` (${row.cause})` : ""} ${relative(row.finishedAt)}${took === null ? ", without starting" : ` after ${duration(took)}${usually}`}.`;
    }
    if (row.state === "executing") return `Running for ${duration(runTime(row))}${usually}.${row.statusText ? ` ${row.statusText}` : ""}`;
    if (!reasons.length) return "Starts as soon as a slot is free.";
    return `Waiting: ${reasons[0].text}${reasons.length > 1 ? `, and ${reasons.length - 1} more` : ""}.`;
  }

  function reasonItem(reason) {
    const links = reason.ids.slice(0, 8).map((id, index) => [index ? ", " : "", h("a.link", { href: `/operation/${id}` }, names.has(id) ? `${title(names.get(id))} (${id})` : id)]);
    const executing = reason.ids.find((id) => names.get(id)?.state === "executing" && !names.get(id).isGroup);
    const question = reason.kind === "dependency" ? executing && `finish ${executing}`
      : reason.kind === "held" || reason.kind === "suspended" ? "resume"
      : reason.ids.length ? `cancel ${reason.ids[0]}`
      : reason.kind === "pool" ? "workers 1000"
      : reason.kind === "queue" ? `limit ${operation.queue} none`
      : reason.kind === "category" && operation.categories.length === 1 ? `capacity ${operation.categories[0].name} 1000` : null;
    return h("li", {}, h("span", {}, reason.text), links.length ? h("span", {}, "→ ", links) : null,
      question ? h("button.quiet", { type: "button", onclick: () => whatIf(String(operation.id), question) }, `What if: ${question}`) : null);
  }

  function draw() {
    if (!operation) return update(head, problem(failure));
    const row = operation;
    document.title = `${standing(row).symbol} ${title(row)} · opsd`;
    update(head,
      problem(failure),
      h("div.title", {}, state(row), h("h1", {}, title(row)),
        h("span.crumb", {}, `${row.id} in `, h("a.link", { href: `/graph/${row.graph}` }, row.graphName ? `${row.graphName} (${row.graph})` : row.graph)),
        row.name ? h("a.link.crumb", { href: `/history/${encodeURIComponent(row.graphName ?? row.name)}` }, "History") : null,
        h("div.actions", {}, actions(row, refresh.again))),
      h("p.sentence", {}, sentence()),
      row.note ? h("p.banner.warn", {}, `Note: ${row.note}`) : null,
      row.progress?.total ? h("div.bar", { role: "progressbar", "aria-label": "Progress", "aria-valuenow": Math.round(100 * row.progress.done / row.progress.total) }, h("b", { vars: { "--share": `${Math.min(100, 100 * row.progress.done / row.progress.total)}%` } })) : null,
      reasons.length ? h("section", {}, h("h2", {}, "Why it waits"), h("ul.reasons", {}, reasons.map(reasonItem))) : null);
    drawLog();
    const waiting = (id) => names.get(id);
    update(rest, h("div.columns", {},
      h("div", {},
        attempts.length ? h("section", {}, h("h2", {}, "Attempts"), table("Attempts", [["", "c-small"], ["Outcome", "c-state"], ["Cause", "wide"], ["Started", "c-time"], ["Took", "c-time number"]],
          attempts.map((one) => ({ key: `t${one.attempt}`, cells: [h("a.link", { href: `/operation/${row.id}?attempt=${one.attempt}` }, one.attempt), state({ ...one, state: one.outcome ? "finished" : "executing" }), h("span.reason", {}, one.cause ?? ""), time(one.startedAt), runTime(one) === null ? "" : duration(runTime(one))] })))) : null,
        row.dependencies.length ? h("section", {}, h("h2", {}, "Waits for"), table("Dependencies", [["State", "c-state"], ["Name"], ["Needed", "c-time"]],
          row.dependencies.slice(0, mostNamed).map((one) => ({ key: `d${one.id}`, cells: [waiting(one.id) ? state(waiting(one.id)) : one.satisfied ? "satisfied" : "not yet",
            h("a.name", { href: `/operation/${one.id}` }, waiting(one.id) ? title(waiting(one.id)) : `operation ${one.id}`), one.when] }))),
          row.dependencies.length > mostNamed ? h("p.muted", {}, `and ${row.dependencies.length - mostNamed} more`) : null) : null),
      h("div", {}, h("section", {}, h("h2", {}, "Facts"), facts(row)))));
  }

  function facts(row) {
    const entries = [
      ["command", row.command ? h("code", {}, row.command.map(quoted).join(" ")) : null], ["directory", row.directory ? h("code", {}, row.directory) : null],
      ["queue", h("a.link", { href: `/list?queue=${encodeURIComponent(row.queue)}` }, row.queue)], ["user", row.user],
      ["priority", row.effectivePriority === row.priority ? `${row.priority}` : `${row.priority}, raised to ${row.effectivePriority}`],
      ["categories", row.categories.map((use) => use.mode === "units" ? `${use.name} × ${use.units}` : `${use.name} (${use.mode})`).join(", ")],
      ["labels", Object.entries(row.labels).map(([key, value], index) => [index ? ", " : "", h("a.link", { href: `/list?label=${encodeURIComponent(`${key}=${value}`)}` }, `${key}=${value}`)])],
      ["submitted", absolute(row.submittedAt)], ["not before", row.notBefore ? absolute(row.notBefore) : null], ["timeout", row.timeout], ["deadline", row.deadline ? absolute(row.deadline) : null],
      ["exit status", row.exitCode], ["signal", row.signal], ["result", row.result],
      ["memory peak", row.usage ? `${(row.usage.maxResidentBytes / 1048576).toFixed(1)} MiB` : null], ["CPU time", row.usage ? `${(row.usage.userSeconds + row.usage.systemSeconds).toFixed(2)} s` : null],
      ["in the terminal", command(`opsctl show ${row.id}`)], ["", row.state === "finished" ? null : command(row.state === "executing" ? `opsctl log -f ${row.id}` : `opsctl why ${row.id}`)],
    ];
    return h("dl.facts", {}, entries.filter(([, value]) => value !== null && value !== undefined && value !== "" && value.length !== 0).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]));
  }

  function drawLog() {
    const known = attempts.length ? attempts.map((one) => one.attempt) : operation.state === "executing" ? [operation.attempt] : [];
    output.hidden = !known.length || operation.isGroup;
    if (output.hidden) return;
    const current = attempt ?? known.at(-1);
    const choose = (number, wantsError) => () => { attempt = number; isError = wantsError; setParameters({ attempt: number, output: wantsError ? "stderr" : null }); draw(); };
    const shown = known.filter((number, index) => number === current || index >= known.length - 6);
    update(tabs,
      shown.length > 1 ? shown.map((number) => h("button", { type: "button", role: "tab", "aria-selected": number === current && !isError ? "true" : "false", onclick: choose(number, false) }, `Attempt ${number}`))
        : h("button", { type: "button", role: "tab", "aria-selected": !isError ? "true" : "false", onclick: choose(current, false) }, "Output"),
      h("button", { type: "button", role: "tab", "aria-selected": isError ? "true" : "false", onclick: choose(current, true) }, "Errors"));
    const isRunning = operation.state === "executing" && current === known.at(-1);
    const key = `${current} ${isError}`;
    // Followed logs end by themselves.
    if (key === logKey && (isFollowed || !isRunning)) return;
    log?.end();
    [logKey, isFollowed] = [key, isRunning];
    log = logView({ id: operation.id, attempt: current, isRunning, isError });
    pane.replaceChildren(log.root);
  }

  function key(event) {
    const verb = operation && verbOf(event.key, operation);
    if (!verb) return false;
    act(verb, [operation]).then(refresh.again);
    return true;
  }

  return {
    title: ref, ready: refresh.run(), key,
    changed: (event) => {
      if (!operation || !event.operations || operation.state !== "finished" || event.operations.includes(operation.id)) refresh.again();
    },
    leave() { refresh.end(); clearInterval(clock); log?.end(); },
  };
}
