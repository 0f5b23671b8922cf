// The view Graphs: the newest graphs, with the outcomes of their operations.

import { call } from "./api.js";
import { command, empty, h, update } from "./dom.js";
import { problem, refresher, table, time } from "./parts.js";
import { count } from "./words.js";
import { setParameters } from "./app.js";

const page = 100, most = 1000;

export function open(main, _, parameters) {
  let limit = Math.min(most, Number(parameters.get("limit")) || page), graphs = null, names = [], failure = null;

  const refresh = refresher(async () => {
    try {
      const [list, known] = await Promise.all([call("ListGraphs", { limit }), call("Complete", { kind: "graph", prefix: "" })]);
      graphs = list.graphs.reverse();
      names = known.words;
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 1500);

  function counts(graph) {
    return [["●", graph.executing, "running", "executing"], ["○", graph.ready, "ready", "ready"], ["·", graph.pending, "waiting", "pending"],
      ["◷", graph.scheduled, "scheduled", "scheduled"], ["⏸\ufe0e", graph.held, "held", "held"],
      ["✗", graph.unsuccessful, "unsuccessful", "failed"], ["✓", graph.finished - graph.unsuccessful, "finished", "succeeded"]]
      .filter(([, number]) => number)
      .map(([symbol, number, word, tone]) => h("span.state", { class: `tone-${tone}` }, ` ${symbol} ${number.toLocaleString()} ${word} `));
  }

  function older() {
    limit = Math.min(most, limit * 3);
    setParameters({ limit });
    refresh.run();
  }

  function draw() {
    const size = (graph) => graph.pending + graph.ready + graph.scheduled + graph.held + graph.executing + graph.finished;
    update(main, h("div.title", {}, h("h1", {}, "Graphs"), h("span.crumb.wide", {}, command("opsctl graph"))),
      problem(failure),
      names.length ? h("p.sentence.muted", {}, "History of ", names.slice(0, 40).map((name, index) => [index ? ", " : "", h("a.link", { href: `/history/${encodeURIComponent(name)}` }, name)])) : null,
      !graphs ? null : graphs.length ? table("Graphs", [["Graph", "c-small"], ["Name"], ["Operations", "c-graph"], ["User", "c-user wide"], ["Submitted", "c-time number"]],
        graphs.map((graph) => ({ key: graph.graph, cells: [
          h("a.name", { href: `/graph/${graph.graph}` }, graph.graph),
          [graph.name ? h("a", { href: `/graph/${graph.graph}` }, graph.name) : h("span.muted", {}, count(size(graph), "operation")), graph.suspended ? h("span.muted", {}, " held") : null],
          counts(graph), graph.user, time(graph.submittedAt)] })))
        : failure ? null : empty("No graph is stored. Submit one with", "opsctl submit -f graph.json"),
      graphs && graphs.length >= limit && limit < most ? h("p.tools", {}, h("button", { type: "button", onclick: older }, "Older graphs")) : null);
  }

  return { title: "Graphs", ready: refresh.run(), changed: refresh.again, leave: refresh.end };
}
