// Graph: the drawing and a table of the same operations.

import { call, drawing } from "./api.js";
import { command, h, update } from "./dom.js";
import { act, verbOf } from "./dialogs.js";
import { problem, refresher, state, virtualRows } from "./parts.js";
import { absolute, count, duration, runTime, standing, title } from "./words.js";
import { app, go, setParameters } from "./app.js";

export function open(main, [ref], parameters) {
  let graph = null, failure = null, shown = [], filter = parameters.get("filter") ?? "", only = null, box = null, full = null, svg = null;
  const head = h("div"), tools = h("div.tools"), picture = h("div.drawing", { "data-own": true }), body = h("div.body", { role: "rowgroup" });
  const scroller = h("div.scrolling", { tabindex: -1 });
  const grid = h("div.grid", { role: "grid", "aria-label": "Operations of the graph" },
    h("div", { role: "rowgroup" }, h("div.row.head", { role: "row" }, [["State"], ["Id", "number wide"], ["Name"], ["Took", "number"], ["Cause", "wide"]].map(([word, kind]) => h("div", { role: "columnheader", class: kind ?? "" }, word)))), body);
  scroller.append(grid);
  main.replaceChildren(head, picture, tools, scroller);
  const list = virtualRows({ body, count: () => shown.length, draw: drawRow, scroller });

  const refresh = refresher(async () => {
    try {
      graph = await call("Graph", { graph: graph?.graph ?? ref });
      failure = null;
      drawAll();
      await drawPicture();
    } catch (error) {
      failure = error;
      drawAll();
    }
  }, 1000);

  function drawRow(index) {
    const row = shown[index];
    const took = runTime(row);
    return h("div.row", { role: "row", "data-row": row.id, tabindex: 0, "aria-rowindex": index + 2, onfocusin: () => mark(row.id), onpointerover: () => mark(row.id) },
      h("div", { role: "gridcell" }, state(row)), h("div", { role: "gridcell", class: "number muted wide" }, row.id),
      h("div", { role: "gridcell" }, h("a.name", { href: `/operation/${row.id}` }, title(row))),
      h("div", { role: "gridcell", class: "number" }, took === null ? "" : duration(took)),
      h("div", { role: "gridcell", class: "reason wide", title: row.cause ?? "" }, row.cause ?? ""));
  }

  function drawAll() {
    if (!graph) return update(head, problem(failure));
    const rows = graph.nodes.filter((node) => !node.isGroup);
    const over = rows.filter((row) => row.state === "finished").length;
    const starts = graph.nodes.map((node) => Date.parse(node.startedAt)).filter(Boolean);
    const ends = graph.nodes.map((node) => Date.parse(node.finishedAt)).filter(Boolean);
    const bad = rows.filter((row) => row.outcome && row.outcome !== "succeeded" && !row.notNeeded);
    const retryable = bad.filter((row) => row.outcome !== "skipped");
    const rising = (a, b) => a - b;
    const length = starts.length ? (over === rows.length ? ends.sort(rising).at(-1) : Date.now()) - starts.sort(rising)[0] : 0;
    update(head,
      problem(failure),
      h("div.title", {}, h("h1", {}, graph.name ?? `Graph ${graph.graph}`), h("span.crumb", {}, graph.graph),
        graph.name ? h("a.link", { href: `/history/${encodeURIComponent(graph.name)}` }, "History") : null,
        app.readOnly ? null : h("div.actions", {},
          retryable.length ? h("button", { type: "button", onclick: () => act("retry", retryable).then(refresh.again) }, `Retry ${count(retryable.length, "failure")}`) : null,
          over < rows.length ? h("button.danger", { type: "button", onclick: () => act("cancel", rows, { graph: graph.graph }).then(refresh.again) }, "Cancel the graph") : null,
          over < rows.length ? h("button", { type: "button", onclick: () => act(graph.suspended ? "resume" : "hold", [{ id: 0 }], { graph: graph.graph }).then(refresh.again) }, graph.suspended ? "Resume" : "Hold") : null)),
      h("p.sentence", {}, over === rows.length ? `All ${count(rows.length, "operation")} have ended` : `${over} of ${count(rows.length, "operation")} have ended`,
        length ? (over === rows.length ? `, in ${duration(length)}` : `; running for ${duration(length)}`) : "",
        bad.length ? `; ${bad.length} did not succeed.` : ".", " ", graph.suspended ? h("b", {}, "The graph is suspended: none of its operations starts. ") : null,
        h("span.wide", {}, command(`opsctl graph ${graph.graph}`))));
    const words = filter.toLowerCase();
    shown = graph.nodes.filter((node) => (!only || only.has(node.id)) && (!words || `${title(node)} ${standing(node).word} ${node.id}`.toLowerCase().includes(words)));
    update(tools,
      h("input", { type: "search", value: filter, placeholder: "filter by name or state", "aria-label": "Filter the operations", oninput: (event) => { filter = event.target.value; setParameters({ filter }); drawAll(); } }),
      only ? h("span.chip", {}, `${only.size} folded together`, h("button", { type: "button", "aria-label": "Show all again", onclick: () => { only = null; drawAll(); } }, "×")) : null,
      h("span.muted", {}, count(shown.length, "operation")));
    grid.setAttribute("aria-rowcount", shown.length + 1);
    list.render();
    fade();
  }

  // The drawing

  async function drawPicture() {
    try {
      const fresh = await drawing(graph.graph);
      const [, , width, height] = fresh.getAttribute("viewBox").split(" ").map(Number);
      // The page shows the title itself, so the title of the drawing is cut off.
      const size = { x: 0, y: 34, width, height: height - 34 };
      if (!full || full.width !== size.width || full.height !== size.height) box = { ...size };
      full = size;
      fresh.removeAttribute("width");
      fresh.removeAttribute("height");
      fresh.setAttribute("role", "group");
      fresh.setAttribute("aria-label", "Drawing of the graph");
      const focused = document.activeElement?.getAttribute?.("data-ids");
      for (const node of fresh.querySelectorAll("g[data-ids]")) {
        node.setAttribute("tabindex", "0");
        node.setAttribute("role", "link");
        node.setAttribute("aria-label", node.querySelector("title")?.textContent ?? "");
        describe(node);
      }
      svg = fresh;
      picture.replaceChildren(svg, buttons);
      // A wide and flat drawing takes less height of the page.
      const height2 = Math.min(560, Math.max(200, size.height * Math.min(1.25, picture.clientWidth / size.width)));
      picture.style.setProperty("--height", `${Math.round(height2)}px`);
      apply();
      fade();
      if (focused) svg.querySelector(`g[data-ids="${focused}"]`)?.focus();
    } catch (error) {
      svg = null;
      picture.replaceChildren(h("p.note", {}, error.message));
      picture.style.setProperty("--height", "auto");
    }
  }

  const buttons = h("div.buttons", {}, [["+", "Zoom in", 0.8], ["−", "Zoom out", 1.25], ["Fit", "Show all", 0]].map(([word, label, factor]) =>
    h("button", { type: "button", "aria-label": label, onclick: () => zoom(factor) }, word)));

  function describe(node) {
    const ids = node.dataset.ids.split(",");
    const row = ids.length === 1 ? graph.nodes.find((one) => String(one.id) === ids[0]) : null;
    if (!row) return;
    const took = runTime(row);
    const text = [`${title(row)} (${row.id}): ${standing(row).word}`, row.cause, row.startedAt ? `started ${absolute(row.startedAt)}` : null, took === null ? null : `ran ${duration(took)}`].filter(Boolean).join("\n");
    node.querySelector("title").textContent = text;
    node.setAttribute("aria-label", text);
  }

  const apply = () => svg?.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);

  function zoom(factor, at = { x: 0.5, y: 0.5 }) {
    if (!full) return;
    if (!factor) box = { ...full };
    else {
      const width = Math.min(full.width * 1.5, Math.max(120, box.width * factor));
      const height = box.height * width / box.width;
      box = { x: box.x + (box.width - width) * at.x, y: box.y + (box.height - height) * at.y, width, height };
    }
    apply();
  }

  function fade() {
    const wanted = new Set(shown.map((row) => String(row.id)));
    const isFiltered = filter || only;
    for (const node of svg?.querySelectorAll("g[data-ids]") ?? []) {
      node.classList.toggle("faint", Boolean(isFiltered) && !node.dataset.ids.split(",").some((id) => wanted.has(id)));
    }
  }

  function mark(id) {
    for (const node of svg?.querySelectorAll("g[data-ids]") ?? []) node.classList.toggle("chosen", node.dataset.ids.split(",").includes(String(id)));
  }

  function openNode(node) {
    const ids = node.dataset.ids.split(",");
    if (ids.length === 1) return go(`/operation/${ids[0]}`);
    only = new Set(ids.map(Number));
    drawAll();
    tools.scrollIntoView({ block: "nearest" });
  }

  let drag = null, moved = 0;
  picture.addEventListener("wheel", (event) => {
    if (!svg || (!event.ctrlKey && !event.shiftKey && !picture.matches(":focus-within"))) return;
    event.preventDefault();
    const frame = picture.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.1 : 0.9, { x: (event.clientX - frame.left) / frame.width, y: (event.clientY - frame.top) / frame.height });
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => { if (svg && !event.target.closest("button")) { drag = { x: event.clientX, y: event.clientY, box: { ...box } }; moved = 0; } });
  picture.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const scale = Math.max(box.width / picture.clientWidth, box.height / picture.clientHeight);
    moved = Math.max(moved, Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y));
    box = { ...drag.box, x: drag.box.x - (event.clientX - drag.x) * scale, y: drag.box.y - (event.clientY - drag.y) * scale };
    if (moved > 4) apply();
  });
  const release = () => { drag = null; };
  addEventListener("pointerup", release);
  picture.addEventListener("click", (event) => { const node = event.target.closest("g[data-ids]"); if (node && moved <= 4) openNode(node); });

  function key(event) {
    const factor = { "+": 0.8, "=": 0.8, "-": 1.25, 0: 0 }[event.key];
    if (factor !== undefined) { zoom(factor); return true; }
    const active = document.activeElement;
    if (event.key === "Enter") {
      if (active?.matches?.("g[data-ids]")) { openNode(active); return true; }
      if (active?.dataset?.row) { go(`/operation/${active.dataset.row}`); return true; }
    }
    const row = graph?.nodes.find((node) => String(node.id) === (active?.dataset?.row ?? active?.getAttribute?.("data-ids")));
    const verb = row && verbOf(event.key, row);
    if (!verb) return false;
    act(verb, [row]).then(refresh.again);
    return true;
  }

  return {
    title: ref, ready: refresh.run(), key,
    changed: (event) => { if (!graph || !event.graphs || event.graphs.includes(graph.graph)) refresh.again(); },
    leave() { refresh.end(); list.end(); removeEventListener("pointerup", release); },
  };
}
