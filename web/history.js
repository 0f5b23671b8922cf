// The history of a graph name: a grid of runs and operations, with the times of the chosen run in the same rows.

import { call } from "./api.js";
import { command, empty, h, update } from "./dom.js";
import { problem, refresher } from "./parts.js";
import { absolute, count, duration, median, quoted, runTime, standing, title } from "./words.js";
import { setParameters } from "./app.js";

const mostRuns = 30;
/** Number of pages of a thousand operations to search before the reader is asked. */
const pages = 8;

export function open(main, [name], parameters) {
  const runs = new Map();
  let last = null, isComplete = false, isSearching = false, failure = null, chosen = parameters.get("run"), other = parameters.get("compare");

  function add(row) {
    const isOwn = row.graphName === name, isAlone = !row.graphName && row.name === name;
    if ((!isOwn && !isAlone) || row.isGroup) return;
    let run = runs.get(row.graph);
    if (!run) runs.set(row.graph, run = { graph: row.graph, rows: new Map(), at: row.submittedAt });
    run.rows.set(row.id, row);
  }

  async function loadGraphs() {
    const { graphs } = await call("ListGraphs", { name, limit: mostRuns });
    const replies = await Promise.all(graphs.map(({ graph }) => call("List", { selection: { graph }, limit: 1000 })));
    for (const { operations } of replies) operations.forEach(add);
  }

  async function search() {
    isSearching = true;
    try {
      if (last === null) await loadGraphs();
      // The name may be that of single operations instead of a graph.
      if (runs.size) isComplete = true;
      for (let page = 0; page < pages && !isComplete && runs.size <= mostRuns; page += 1) {
        const selection = last ? { refs: [`1-${last - 1}`] } : { all: true };
        const { operations } = last === 1 ? { operations: [] } : await call("List", { selection, limit: 1000, newest: true });
        operations.forEach(add);
        isComplete = operations.length < 1000;
        if (operations.length) last = Math.min(...operations.map((row) => row.id));
        draw();
      }
      failure = null;
    } catch (error) {
      failure = error;
    }
    isSearching = false;
    draw();
  }

  const refresh = refresher(async () => {
    try {
      const { operations } = await call("List", { selection: { all: true }, limit: 200, newest: true });
      operations.forEach(add);
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 2000);

  function choose(graph, event) {
    if (event.shiftKey || event.ctrlKey || event.altKey) compare(chosen, other === graph ? null : graph);
    else compare(chosen === graph ? other : graph, null);
  }

  function compare(graph, second) {
    [chosen, other] = [graph, second];
    setParameters({ run: chosen, compare: other });
    draw();
  }

  function bars(row, scale, kind) {
    if (!row || runTime(row) === null) return [];
    const at = (instant) => (instant - scale.start) / scale.length * 100;
    const [ready, start] = [Date.parse(row.readyAt ?? row.startedAt), Date.parse(row.startedAt)];
    const end = start + runTime(row);
    const tone = `tone-${standing(row).tone}`;
    return [
      start > ready ? h("b", { class: `wait ${kind} ${tone}`, vars: { "--left": `${at(ready)}%`, "--width": `${at(start) - at(ready)}%` } }) : null,
      h("b", { class: `${kind} ${tone}`, title: `${title(row)}: waited ${duration(start - ready)}, ran ${duration(end - start)}`, vars: { "--left": `${at(start)}%`, "--width": `${at(end) - at(start)}%` } }),
    ];
  }

  function scaleOf(run) {
    const rows = [...run.rows.values()].filter((row) => runTime(row) !== null);
    const start = Math.min(...rows.map((row) => Date.parse(row.readyAt ?? row.startedAt)));
    const end = Math.max(...rows.map((row) => Date.parse(row.startedAt) + runTime(row)));
    return { start, length: Math.max(1, end - start) };
  }

  /** Returns the operations of a run by title. Equal titles are numbered. */
  function rowsByName(run) {
    const counts = new Map(), named = new Map();
    for (const row of [...run.rows.values()].sort((a, b) => a.id - b.id)) {
      const name = title(row), number = (counts.get(name) ?? 0) + 1;
      counts.set(name, number);
      named.set(number > 1 ? `${name} #${number}` : name, row);
    }
    return named;
  }

  function draw() {
    const shown = [...runs.values()].sort((a, b) => Number(a.graph.slice(1)) - Number(b.graph.slice(1))).slice(-mostRuns);
    const cells = new Map(shown.map((run) => [run.graph, rowsByName(run)]));
    const names = new Set([...shown].reverse().flatMap((run) => [...cells.get(run.graph).keys()]));
    const selected = shown.find((run) => run.graph === chosen)
      ?? shown.findLast((run) => [...run.rows.values()].some((row) => row.startedAt)) ?? shown.at(-1);
    const compared = shown.find((run) => run.graph === other && run !== selected);
    const scale = selected ? scaleOf(selected) : null, otherScale = compared ? scaleOf(compared) : null;
    if (scale && otherScale) scale.length = otherScale.length = Math.max(scale.length, otherScale.length);
    const hasTimes = scale && Number.isFinite(scale.start);
    update(main,
      h("div.title", {}, h("h1", {}, name), h("span.crumb", {}, `${count(shown.length, "run")}${isSearching ? ", searching" : ""}`),
        selected ? h("a.link.crumb", { href: `/graph/${selected.graph}` }, `Graph of ${selected.graph}`) : null,
        selected ? h("span.crumb.wide", {}, command(`opsctl stats --graph ${selected.graph}`)) : null),
      problem(failure),
      shown.length ? [
        h("p.sentence.muted", {}, selected ? `Times of ${selected.graph}, submitted ${absolute(selected.at)}${hasTimes ? `, in ${duration(scaleOf(selected).length)}` : "; none of its operations has started"}.` : "",
          compared ? ` Below, thinner: ${compared.graph}, in ${duration(scaleOf(compared).length)}.` : " ",
          shown.length > 1 ? h("select", { "aria-label": "Compare with", onchange: (event) => compare(selected.graph, event.target.value || null) },
            h("option", { value: "" }, "compare with …"), [...shown].reverse().filter((run) => run !== selected).map((run) => h("option", { value: run.graph, selected: run === compared }, `${run.graph}, ${absolute(run.at)}`))) : null),
        h("div.history", { tabindex: 0, role: "region", "aria-label": "Runs and operations" }, h("table", { "aria-label": `Runs of ${name}` },
          h("thead", {}, h("tr", {}, h("th.c-name", { scope: "col" }, "Operation"),
            shown.map((run) => h("th.run", { scope: "col", "data-key": run.graph }, h("button", { type: "button", "aria-pressed": run === selected || run === compared ? "true" : "false", title: `${run.graph}, ${absolute(run.at)}`, "aria-label": `Run ${run.graph} of ${absolute(run.at)}`, onclick: (event) => choose(run.graph, event) }, run.graph.slice(1).slice(-3)))),
            h("th.c-median.number", { scope: "col" }, "Median"), h("th.c-gantt", { scope: "col" }, hasTimes ? h("div.axis", {}, h("span", {}, "0"), h("span", {}, duration(scale.length / 2)), h("span", {}, duration(scale.length))) : "Times"))),
          h("tbody", {}, [...names].map((operation) => {
            const all = shown.map((run) => cells.get(run.graph).get(operation));
            const times = all.filter((row) => row?.outcome === "succeeded").map(runTime);
            const middle = median(times), longest = Math.max(1, ...all.map((row) => (row && runTime(row)) ?? 0));
            return h("tr", { "data-key": operation }, h("th.c-name", { scope: "row", title: operation }, operation),
              all.map((row, index) => row ? cell(row, longest) : h("td.cell", { "data-key": `e${index}` })),
              h("td.c-median.number", {}, middle === null ? "" : duration(middle)),
              h("td.c-gantt", {}, hasTimes ? h("div.gantt", { class: compared ? "two" : "" },
                bars(cells.get(selected.graph).get(operation), scale, ""), compared ? bars(cells.get(compared.graph).get(operation), otherScale, "other") : null) : null));
          })))),
      ] : isSearching ? h("p.muted", {}, "Searching …") : empty(`No run of ${name} is stored${isComplete ? "" : " among the newest operations"}.`, `opsctl submit --name ${quoted(name)} -- true`),
      isComplete || isSearching || shown.length >= mostRuns ? null : h("p.tools", {}, h("button", { type: "button", onclick: search }, "Look further back")));
  }

  function cell(row, longest) {
    const { symbol, word, tone } = standing(row);
    const took = runTime(row);
    return h("td.cell", { "data-key": `${row.id}` }, h("a", {
      href: `/operation/${row.id}`, class: `tone-${tone}`, vars: { "--shade": `${took === null ? 0 : 6 + Math.round(26 * took / longest)}%` },
      title: `${title(row)} (${row.id}): ${word}${took === null ? "" : `, ${duration(took)}`}`, "aria-label": `${title(row)}, run ${row.graph}: ${word}${took === null ? "" : `, ${duration(took)}`}`,
    }, symbol));
  }

  return { title: name, ready: search(), changed: refresh.again, leave: refresh.end };
}
