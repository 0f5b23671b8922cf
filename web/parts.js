// Elements that several views use.

import { h } from "./dom.js";
import { absolute, relative, standing, title } from "./words.js";

export const label = ({ symbol, word, tone }) => h("span.state", { class: `tone-${tone}` }, h("i", { "aria-hidden": "true" }, symbol), word);
export const state = (row) => label(standing(row));

/** Returns only the symbol, for a column of equal states. Screen readers get the word. */
export function mark(row) {
  const { symbol, word, tone } = standing(row);
  return h("span.state", { class: `tone-${tone}`, title: word }, h("i", { "aria-hidden": "true" }, symbol), h("span.unseen", {}, word), " ");
}

export const link = (row) => h("a.name", { href: `/operation/${row.id}` }, title(row));
export const graphLink = (row) => h("a", { href: `/graph/${row.graph}`, class: "muted" }, row.graphName ? `${row.graphName}` : row.graph);
export const time = (text) => text ? h("time", { datetime: text, title: absolute(text) }, relative(text)) : "";

/** Returns a banner with an error, if there is one. */
export const problem = (failure, ...more) => failure && h("p.banner", { role: "alert" }, failure.message, more);

/** Returns a table. Each row is an array of cells. */
export function table(name, columns, rows) {
  return h("table", { "aria-label": name },
    h("thead", {}, h("tr", {}, columns.map(([word, kind]) => h("th", { scope: "col", class: kind ?? "" }, word)))),
    h("tbody", {}, rows.map(({ key, cells }) => h("tr", { "data-key": key },
      cells.map((cell, index) => h("td", { class: columns[index][1] ?? "" }, cell))))));
}

/** Keeps the rows of a table in place while the pointer is on it. New rows are only counted until it leaves. */
export function steady(name) {
  let kept = [];
  return (rows) => {
    const isHeld = document.querySelector(`table[aria-label="${name}"] tbody`)?.matches(":hover") && kept.length;
    const byId = new Map(rows.map((row) => [row.id, row])), old = new Set(kept.map((row) => row.id));
    const fresh = isHeld ? rows.filter((row) => !old.has(row.id)).length : 0;
    kept = isHeld ? kept.map((row) => byId.get(row.id) ?? row) : rows;
    return { rows: kept, note: fresh ? h("span.muted", {}, ` ${fresh} new`) : null };
  };
}

/** Calls `load` at once and after changes, at most every `pause` milliseconds, and not while the page is hidden. */
export function refresher(load, pause = 700) {
  let isRunning = false, isWanted = false, isOver = false, last = 0, timer;
  async function run() {
    if (isOver || isRunning) { isWanted = true; return; }
    isRunning = true;
    isWanted = false;
    last = Date.now();
    try { await load(); } finally { isRunning = false; }
    if (isWanted) again();
  }
  function again() {
    isWanted = true;
    if (isOver || document.hidden) return;
    clearTimeout(timer);
    timer = setTimeout(run, Math.max(0, last + pause - Date.now()));
  }
  const seen = () => { if (!document.hidden && isWanted) again(); };
  document.addEventListener("visibilitychange", seen);
  return { run, again, end() { isOver = true; clearTimeout(timer); document.removeEventListener("visibilitychange", seen); } };
}

/** Rows of equal height. Only visible rows are elements. `draw(index)` creates a row; `near` is called near the last row. */
export function virtualRows({ body, count, draw, near, scroller = null, height = 28 }) {
  let planned = false;
  const target = scroller ?? window;
  function render() {
    planned = false;
    if (!body.isConnected) return;
    const total = count();
    const box = body.getBoundingClientRect();
    const top = (scroller ? scroller.getBoundingClientRect().top : 0) - box.top;
    const seen = innerHeight;
    const first = Math.max(0, Math.floor(top / height) - 8);
    const last = Math.min(total, Math.ceil((top + seen) / height) + 8);
    body.style.height = `${total * height}px`;
    const focused = document.activeElement?.closest?.("[data-row]")?.dataset.row;
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const row = draw(index);
      row.setAttribute("data-key", row.dataset.row);
      row.style.setProperty("--y", `${index * height}px`);
      rows.push(row);
    }
    replaceRows(body, rows);
    if (focused && !body.querySelector(`[data-row="${CSS.escape(focused)}"]`)) return;
    if (near && last >= total) near();
  }
  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(render);
  }
  target.addEventListener("scroll", plan, { passive: true });
  addEventListener("resize", plan);
  return { render, end() { target.removeEventListener("scroll", plan); removeEventListener("resize", plan); } };
}

/** Replaces rows, and keeps the focus in its row. */
function replaceRows(body, rows) {
  const active = document.activeElement;
  const holder = active?.closest?.("[data-row]");
  const key = holder && body.contains(holder) ? holder.dataset.row : null;
  const isInside = key && active !== holder ? active.tagName : null;
  body.replaceChildren(...rows);
  if (!key) return;
  const fresh = rows.find((row) => row.dataset.row === key);
  (isInside ? fresh?.querySelector(isInside) : fresh)?.focus({ preventScroll: true });
}
