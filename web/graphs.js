// Graphs: the newest ones, with what became of their operations.

import { call } from "./api.js";
import { empty, h, update } from "./dom.js";
import { refresher, table, time } from "./parts.js";
import { count, standing } from "./words.js";

export function open(main) {
  const graphs = new Map();
  let last = null, isComplete = false, names = [], failure = null;

  async function load(before) {
    const selection = before ? { refs: [`1-${before - 1}`] } : { all: true };
    const { operations } = before === 1 ? { operations: [] } : await call("List", { selection, limit: 1000, newest: true });
    for (const row of operations) {
      let graph = graphs.get(row.graph);
      if (!graph) graphs.set(row.graph, graph = { id: row.graph, name: row.graphName, user: row.user, rows: new Map() });
      graph.rows.set(row.id, row);
    }
    if (before || last === null) {
      last = Math.min(...operations.map((row) => row.id));
      isComplete = operations.length < 1000;
    }
  }

  const refresh = refresher(async () => {
    try {
      await load(null);
      if (!names.length) names = (await call("Complete", { kind: "graph", prefix: "" })).words;
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 1500);

  function counts(rows) {
    const tones = new Map();
    for (const row of rows) {
      if (row.isGroup) continue;
      const { symbol, word, tone } = standing(row);
      const entry = tones.get(word) ?? { symbol, word, tone, number: 0 };
      entry.number += 1;
      tones.set(word, entry);
    }
    return [...tones.values()].map(({ symbol, word, tone, number }) => h("span.state", { class: `tone-${tone}` }, ` ${symbol} ${number} ${word} `));
  }

  function draw() {
    const known = [...graphs.values()].map((graph) => ({ ...graph, rows: [...graph.rows.values()] }))
      .sort((a, b) => Number(b.id.slice(1)) - Number(a.id.slice(1)));
    const many = known.filter((graph) => graph.rows.length > 1 || graph.name);
    update(main, h("div.title", {}, h("h1", {}, "Graphs")),
      failure ? h("p.banner", { role: "alert" }, failure.message) : null,
      names.length ? h("p.sentence.muted", {}, "History of ", names.slice(0, 40).map((name, index) => [index ? ", " : "", h("a.link", { href: `/history/${encodeURIComponent(name)}` }, name)])) : null,
      many.length ? table("Graphs", [["Graph", "c-small"], ["Name"], ["Operations", "c-graph"], ["User", "c-user wide"], ["Submitted", "c-time number"]],
        many.map((graph) => ({ key: graph.id, cells: [
          h("a.name", { href: `/graph/${graph.id}` }, graph.id),
          graph.name ? h("a", { href: `/graph/${graph.id}` }, graph.name) : h("span.muted", {}, count(graph.rows.length, "operation")),
          counts(graph.rows), graph.user, time(graph.rows[0].submittedAt)] })))
        : failure ? null : empty("No graph of several operations is stored. Submit one with", "opsctl submit -f graph.json"),
      isComplete ? null : h("p.tools", {}, h("button", { type: "button", onclick: async () => { await load(last); draw(); } }, "Older graphs")));
  }

  return { title: "Graphs", ready: refresh.run(), changed: () => refresh.again(), leave: () => refresh.end() };
}
