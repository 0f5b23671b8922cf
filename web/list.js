// The view List: filters in the address, rows by descending id, actions on many operations.

import { call } from "./api.js";
import { announce, command, empty, h, update } from "./dom.js";
import { act, verbOf } from "./dialogs.js";
import { graphLink, link, problem, refresher, state, time, virtualRows } from "./parts.js";
import { count, duration, quoted, references, runTime, title } from "./words.js";
import { app, go } from "./app.js";

const filters = ["state", "outcome", "queue", "graph", "user", "label", "name", "since"];
const page = 200;
/** Maximum number of operations of an action. */
const most = 30000;

/** Returns the instant that a text names, in milliseconds; NaN if it names none. */
function instant(text) {
  const units = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };
  if (/^(\d+[smhdw])+$/.test(text)) {
    return [...text.matchAll(/(\d+)(.)/g)].reduce((rest, [, number, unit]) => rest - number * units[unit], Date.now());
  }
  if (text === "today" || text === "yesterday") return new Date().setHours(text === "today" ? 0 : -24, 0, 0, 0);
  // Browsers read a date without a time as UTC.
  return /^\d{4}-/.test(text) ? Date.parse(text.includes("T") ? text : `${text}T00:00`) : NaN;
}

/** Returns an error about filters that cannot be applied, or null. */
function refusalOf(parameters) {
  const given = [...parameters].map(([key, value]) => key === "label" ? `label ${value.split("=")[0]}` : key);
  const twice = given.find((key, index) => key !== "state" && key !== "outcome" && given.indexOf(key) < index);
  if (twice) return new Error(`Only one filter ${twice} is possible. Remove the others.`);
  if (!parameters.has("since") || instant(parameters.get("since"))) return null;
  return new Error("The filter since takes a duration such as 1d12h, today, yesterday, or a time such as 2026-01-31T22:00.");
}

export function selectionOf(parameters) {
  const selection = {};
  for (const key of ["state", "outcome", "queue", "graph", "user"]) {
    if (parameters.get(key)) selection[key] = parameters.getAll(key).join(",");
  }
  const labels = parameters.getAll("label").map((text) => text.split(/=(.*)/s));
  if (labels.length) selection.labels = Object.fromEntries(labels.map(([key, value]) => [key, value ?? ""]));
  return selection;
}

export function open(main, _, parameters) {
  const selection = selectionOf(parameters);
  const since = parameters.has("since") ? instant(parameters.get("since")) : null, refusal = refusalOf(parameters);
  const name = parameters.get("name");
  // After a reload or a return, selection and number of rows are as before.
  const memory = `list ${parameters}`, kept = app.isReturn ? JSON.parse(sessionStorage.getItem(memory) ?? "{}") : {};
  const chosen = new Set(kept.chosen);
  let rows = [], fresh = [], isComplete = false, isStopped = false, isLoading = false;
  let last = null, failure = refusal, focus = 0;
  const isWanted = (row) => (!name || title(row).includes(name)) && (!since || Date.parse(row.submittedAt) >= since);

  const tools = h("div.tools"), banner = h("div"), foot = h("div");
  const body = h("div.body", { role: "rowgroup" });
  const grid = h("div.grid.all", { role: "grid", "aria-label": "Operations", "aria-multiselectable": "true" },
    h("div", { role: "rowgroup" }, h("div.row.head", { role: "row" },
      ["", "State", ["Id", "number wide"], "Name", ["Graph", "wide"], ["Queue", "wide"], ["User", "wide"], ["Took", "number wide"], ["When", "number"]].map((column) => {
        const [word, kind] = [column].flat();
        return h("div", { role: "columnheader", class: kind ?? "" }, word || h("span.unseen", {}, "Selected"));
      }))), body);
  main.replaceChildren(h("h1.unseen", {}, "Operations"), tools, banner, grid, foot);
  const list = virtualRows({ body, count: () => rows.length, draw: drawRow, near: () => isStopped || failure || more() });

  async function fetchPage(before, limit = page) {
    const narrowed = { ...selection, ...(before ? { refs: [`1-${before - 1}`] } : {}) };
    if (before === 1) return [];
    const wanted = Object.keys(narrowed).length ? narrowed : { all: true };
    const { operations } = await call("List", { selection: wanted, limit, newest: true });
    return operations.sort((a, b) => b.id - a.id);
  }

  async function more() {
    if (isComplete || isLoading) return;
    if (refusal) return draw();
    isLoading = true;
    isStopped = false;
    try {
      // If the page itself filters, several pages of operations may have no match.
      const wanted = rows.length + 50, size = name || since ? 1000 : page;
      for (let turn = 0; turn < 20 && !isComplete && rows.length < wanted; turn += 1) {
        const next = await fetchPage(last, size);
        isComplete = next.length < size || Boolean(since && Date.parse(next.at(-1).submittedAt) < since);
        last = next.at(-1)?.id ?? last;
        rows = rows.concat(next.filter(isWanted));
      }
      isStopped = !isComplete && rows.length < wanted && size !== page;
      failure = null;
    } catch (error) {
      failure = error;
    }
    isLoading = false;
    draw();
  }

  /** Reads the visible rows again, and looks for new operations. */
  const refresh = refresher(async () => {
    if (last === null && !isComplete) return more();
    try {
      const [, newest] = await Promise.all([reread(), fetchPage(null, 100)]);
      const first = rows[0]?.id ?? 0;
      const found = newest.filter((row) => row.id > first && isWanted(row));
      const isAtTop = scrollY < 8 && !grid.matches(":hover, :focus-within");
      const isShown = !rows.length || (found.length < 100 && isAtTop);
      [rows, fresh] = isShown ? [found.concat(rows), []] : [rows, found];
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 1000);

  async function reread() {
    const seen = [...body.querySelectorAll("[data-row]")].map((row) => Number(row.dataset.row));
    if (!seen.length) return;
    const { operations } = await call("List", { selection: { refs: references(seen) }, limit: 1000 });
    const byId = new Map(operations.map((row) => [row.id, row]));
    rows = rows.map((row) => byId.get(row.id) ?? row);
  }

  function drawRow(index) {
    const row = rows[index];
    const took = runTime(row);
    return h("div.row", {
      role: "row", tabindex: index === focus ? 0 : -1, "data-row": row.id, "aria-rowindex": index + 2, "aria-selected": chosen.has(row.id) ? "true" : "false",
      onclick: (event) => { if (!event.target.closest("a, input")) { focus = index; list.render(); focusRow(); } },
    },
    h("div", { role: "gridcell" }, h("input", { type: "checkbox", tabindex: -1, checked: chosen.has(row.id), "aria-label": `Select ${title(row)} ${row.id}`, onchange: () => toggle(row) })),
    h("div", { role: "gridcell" }, state(row)),
    h("div", { role: "gridcell", class: "number wide muted" }, row.id),
    h("div", { role: "gridcell" }, link(row)),
    h("div", { role: "gridcell", class: "wide" }, graphLink(row)),
    h("div", { role: "gridcell", class: "wide" }, row.queue),
    h("div", { role: "gridcell", class: "wide" }, row.user),
    h("div", { role: "gridcell", class: "number wide" }, took === null ? "" : duration(took)),
    h("div", { role: "gridcell", class: "number muted" }, time(row.finishedAt ?? row.startedAt ?? row.submittedAt)));
  }

  function toggle(row) {
    if (!chosen.delete(row.id)) chosen.add(row.id);
    draw();
  }

  const focusRow = () => body.querySelector(`[data-row="${rows[focus]?.id}"]`)?.focus();
  const without = (key, value) => {
    const rest = new URLSearchParams(parameters);
    rest.delete(key);
    for (const one of parameters.getAll(key)) if (one !== value) rest.append(key, one);
    return `/list?${rest}`;
  };
  const withOne = (key, value) => {
    const rest = new URLSearchParams(parameters);
    if (key === "state") rest.delete("outcome");
    if (key === "outcome") rest.delete("state");
    rest.delete(key);
    if (value) rest.set(key, value);
    return `/list?${rest}`;
  };

  function line() {
    if (refusal) return null;
    if (name || since) return h("span.muted", {}, "opsctl ls has no filters name and since");
    const options = filters.flatMap((key) => parameters.getAll(key).map((value) => `--${key} ${quoted(value)}`));
    return command(["opsctl ls", ...(options.length ? options : ["-a"])].join(" "));
  }

  function draw() {
    const choices = [["", "everything"], ["state=executing", "running"], ["state=ready", "ready"], ["state=pending", "waiting"],
      ["outcome=failed", "failed"], ["outcome=succeeded", "succeeded"], ["outcome=cancelled", "cancelled"], ["outcome=timedOut", "timed out"], ["outcome=interrupted", "interrupted"], ["outcome=skipped", "skipped"]];
    const current = selection.state ? `state=${selection.state}` : selection.outcome ? `outcome=${selection.outcome}` : "";
    if (!choices.some(([value]) => value === current)) choices.push([current, current.split("=")[1]]);
    update(tools,
      h("select", { "aria-label": "State", onchange: (event) => {
        const [key, value] = event.target.value.split("=");
        go(key ? withOne(key, value) : withOne("state", null));
      } }, choices.map(([value, word]) => h("option", { value, selected: value === current }, word))),
      filters.filter((key) => key !== "state" && key !== "outcome").flatMap((key) => parameters.getAll(key).map((value) =>
        h("span.chip", {}, `${key}: ${value}`, h("button", { type: "button", "aria-label": `Remove the filter ${key} ${value}`, onclick: () => go(without(key, value)) }, "×")))),
      h("span.grow"), h("span.wide", {}, line()));
    update(banner,
      problem(failure, " ", refusal ? null : h("button", { type: "button", onclick: refresh.run }, "Try again")),
      fresh.length ? h("p.tools", {}, h("button", { type: "button", onclick: showFresh }, `${count(fresh.length, "new operation")}${fresh.length === 100 ? " or more" : ""}: show`)) : null,
      isComplete && !rows.length && !failure ? empty("No operation matches these filters.", parameters.size ? null : "opsctl submit -- sleep 60") : null);
    update(foot,
      isStopped ? h("p.tools", {}, h("span.muted", {}, `Searched back to operation ${last}.`), h("button", { type: "button", onclick: () => more() }, "Look further back")) : null,
      chosen.size ? bulk() : null);
    sessionStorage.setItem(memory, JSON.stringify({ chosen: [...chosen].slice(0, 5000), rows: rows.length }));
    grid.setAttribute("aria-rowcount", isComplete ? rows.length + 1 : -1);
    list.render();
  }

  function showFresh() {
    // There may be more than these, so the whole list is read again.
    if (fresh.length === 100) return go(`/list?${parameters}`);
    rows = fresh.concat(rows);
    fresh = [];
    scrollTo(0, 0);
    draw();
  }

  const chosenRows = () => [...chosen].map((id) => rows.find((row) => row.id === id) ?? { id });

  function bulk() {
    const run = (verb) => async () => {
      if (await act(verb, chosenRows())) { chosen.clear(); refresh.again(); draw(); }
    };
    return h("div.bulk", { role: "toolbar", "aria-label": "Actions on the selected operations" },
      h("b", {}, `${count(chosen.size, "operation")} selected`),
      app.readOnly ? null : [["Retry", "retry"], ["Cancel", "cancel"], ["Hold", "hold"], ["Resume", "resume"]].map(([word, verb]) =>
        h("button", { type: "button", class: verb === "cancel" ? "danger" : "", onclick: run(verb) }, `${word} ${count(chosen.size, "operation")}`)),
      h("button", { type: "button", onclick: selectAll }, "Select all that match"),
      h("button.quiet", { type: "button", onclick: () => { chosen.clear(); draw(); } }, "Select none"));
  }

  /** Selects all operations that match the filters, and shows their number. */
  async function selectAll() {
    announce("Counting");
    try {
      let last = null;
      while (chosen.size < most) {
        const next = await fetchPage(last, 1000);
        for (const row of next) if (isWanted(row)) chosen.add(row.id);
        if (next.length < 1000) break;
        last = next.at(-1).id;
      }
      announce(`${count(chosen.size, "operation")} selected`);
    } catch (error) {
      failure = error;
    }
    draw();
  }

  function key(event) {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step) {
      if (!body.contains(document.activeElement) && event.key.startsWith("Arrow")) return false;
      focus = body.contains(document.activeElement) ? Math.max(0, Math.min(rows.length - 1, focus + step)) : focus;
      const top = grid.getBoundingClientRect().top + scrollY + 28 + focus * 28;
      if (top < scrollY + 72) scrollTo(0, top - 100);
      if (top > scrollY + innerHeight - 60) scrollTo(0, top - innerHeight + 100);
      list.render();
      focusRow();
      return true;
    }
    const row = rows[focus];
    if (!row || !body.contains(document.activeElement)) return false;
    if (event.key === "Enter" && document.activeElement.dataset.row) { go(`/operation/${row.id}`); return true; }
    if (event.key === "x") { toggle(row); return true; }
    const verb = verbOf(event.key, row);
    if (!verb) return false;
    act(verb, chosen.size ? chosenRows() : [row]).then(refresh.again);
    return true;
  }

  async function start() {
    do await more(); while (rows.length < Math.min(kept.rows ?? 0, 5000) && !isComplete && !isStopped && !failure);
    if (kept.rows) await new Promise((resolve) => requestAnimationFrame(resolve));
  }

  return {
    title: "Operations", ready: start(), key,
    changed: refresh.again,
    leave() { refresh.end(); list.end(); },
  };
}
