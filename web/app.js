// The frame of the page: navigation, connection, command field and keys. Each view is a module that draws into #view.

import { about, call, connect, listen } from "./api.js";
import { address, link as linkTo, moved } from "./bridge.js";
import { announce, h, update } from "./dom.js";
import { act, keysHelp, toast, verbOf } from "./dialogs.js";

const views = {
  now: () => import("./now.js"), list: () => import("./list.js"), graphs: () => import("./graphs.js"),
  graph: () => import("./graph.js"), history: () => import("./history.js"), operation: () => import("./operation.js"),
  schedules: () => import("./schedules.js"), schedule: () => import("./schedules.js"),
};
const navigation = [["Now", "/"], ["List", "/list"], ["Graphs", "/graphs"], ["Schedules", "/schedules"]];

/** State that views share. `isReturn`: the reader returns to the view, after a reload or from another one. */
export const app = { readOnly: false, host: "", isReturn: false };

let connection = "opening";
let view = null;
let menuIsOpen = false;

/** Path and parameters of the current view. */
const here = () => new URL(address(), "http://page");

/** Opens the view of an address. */
export function go(path) {
  history.replaceState({ scroll: scrollY }, "");
  history.pushState({}, "", linkTo(path));
  moved();
  show();
}

/** Changes parameters of the address and keeps the view. */
export function setParameters(changes) {
  const { pathname, searchParams: parameters } = here();
  for (const [key, value] of Object.entries(changes)) {
    parameters.delete(key);
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") parameters.append(key, one);
  }
  const text = parameters.toString();
  history.replaceState(history.state, "", linkTo(pathname + (text ? `?${text}` : "")));
  moved();
}

/** Returns a part of a path without its %-escapes, or as it is if they are invalid. */
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

let showing = 0;
async function show() {
  const turn = ++showing;
  const { pathname, searchParams } = here();
  const [name = "now", ...rest] = pathname.split("/").filter(Boolean).map(decoded);
  const load = views[name] ?? views.now;
  view?.leave?.();
  view = null;
  menuIsOpen = false;
  frame();
  const main = document.getElementById("view");
  const left = JSON.parse(sessionStorage.getItem("left") ?? "null");
  sessionStorage.removeItem("left");
  const scroll = left?.address === address() ? left.scroll : history.state?.scroll;
  app.isReturn = scroll !== undefined;
  try {
    const module = await load();
    if (turn !== showing) return;
    // Each view draws into a new element: an earlier view may still draw into its own.
    const root = h("div");
    main.replaceChildren(root);
    main.removeAttribute("data-ready");
    view = module.open(root, rest, searchParams);
    if (turn > 1 && document.activeElement === document.body) main.focus({ preventScroll: true });
    document.title = `${view.title ?? "opsd"} · opsd${app.host ? ` on ${app.host}` : ""}`;
    await view.ready?.catch(() => {});
    if (turn !== showing) return;
    main.setAttribute("data-ready", "");
    scrollTo(0, scroll ?? 0);
  } catch (error) {
    main.replaceChildren(h("p.banner", {}, `Cannot open this view: ${error.message}. Reload the page.`));
  }
}

const stateWords = { opening: "connecting", live: "live", lost: "opsd is not running; reconnecting", gone: "opsd-web is gone; reconnecting" };

function frame() {
  const path = here().pathname;
  const isHere = (href) => href === "/" ? path === "/" || path === "/now" : href === "/graphs" ? /^\/(graph|history)/.test(path) : path.startsWith(href.slice(0, 9));
  update(document.getElementById("bar"),
    h("button.toggle", { type: "button", "aria-expanded": menuIsOpen, "aria-label": "Menu", onclick: () => { menuIsOpen = !menuIsOpen; frame(); } }, "☰"),
    h("a.brand", { href: "/" }, "opsd", h("span", {}, app.host ? ` on ${app.host}` : "")),
    h("nav", { "aria-label": "Views", class: menuIsOpen ? "open" : "" },
      navigation.map(([word, href]) => h("a", { href, "aria-current": isHere(href) ? "page" : null }, word))),
    h("span.connection", { "data-state": connection, title: stateWords[connection] },
      stateWords[connection] + (app.readOnly ? ", read-only" : "")),
    h("form", { role: "search", onsubmit: search },
      h("input", {
        id: "field", type: "search", list: "found", spellcheck: "false", "aria-label": "Go to or filter",
        placeholder: innerWidth < 700 ? "go to" : "id, name, g7 or state:failed   /", oninput: complete,
      }),
      h("datalist", { id: "found", "data-own": true })),
    h("button.quiet", { type: "button", "aria-label": "Light or dark", title: "Light or dark", onclick: switchMode }, "◐"));
}

// Light and dark theme

const dark = matchMedia("(prefers-color-scheme: dark)");
function applyMode() {
  document.documentElement.dataset.mode = localStorage.getItem("mode") ?? (dark.matches ? "dark" : "light");
}
function switchMode() {
  localStorage.setItem("mode", document.documentElement.dataset.mode === "dark" ? "light" : "dark");
  applyMode();
}
dark.addEventListener("change", applyMode);
applyMode();

// The command field

const filterNames = ["state", "outcome", "queue", "graph", "user", "label", "since", "name"];
const outcomes = ["succeeded", "failed", "timedOut", "cancelled", "skipped", "interrupted"];
const fixed = { state: ["running", "ready", "pending", "finished", ...outcomes], outcome: outcomes, since: ["1h", "1d", "7d"] };

/** Returns possible completions of the last word, as the completion of opsctl does. */
async function candidates(word) {
  const [, key, start] = word.match(/^(?:([a-z]+):)?(.*)$/s);
  const asked = { graph: ["graph"], queue: ["queue"], name: ["operation"] }[key] ?? (key ? [] : ["operation", "graph"]);
  const found = await Promise.all(asked.map((kind) => start || key ? call("Complete", { kind, prefix: start }).catch(() => ({ words: [] })) : { words: [] }));
  const words = [...(fixed[key] ?? []).filter((one) => one.startsWith(start)), ...found.flatMap((reply) => reply.words)].map((one) => key ? `${key}:${one}` : one);
  return [...(key || !start ? [] : filterNames.map((name) => `${name}:`).filter((one) => one.startsWith(start))), ...words];
}

let completing = 0;
async function complete(event) {
  const words = event.target.value.split(" "), last = words.pop();
  const turn = ++completing;
  await new Promise((resolve) => setTimeout(resolve, 120));
  if (turn !== completing) return;
  const found = [...new Set(await candidates(last))].slice(0, 20);
  if (turn !== completing) return;
  document.getElementById("found").replaceChildren(...found.map((text) => h("option", { value: [...words, text].join(" ") })));
}

async function search(event, form) {
  event.preventDefault();
  const field = form.querySelector("input");
  const text = field.value.trim();
  field.value = "";
  field.blur();
  if (!text) return;
  if (/^\d+$/.test(text)) return go(`/operation/${text}`);
  if (/^g\d+$/.test(text)) return go(`/graph/${text}`);
  if (/^[a-z]+:/.test(text) && filterNames.includes(text.split(":")[0])) {
    const parameters = new URLSearchParams();
    for (const word of text.split(/\s+/)) {
      const [key, ...rest] = word.split(":");
      const value = rest.join(":");
      if (key === "state" && outcomes.includes(value)) parameters.append("outcome", value);
      else if (key === "state" && value === "running") parameters.append("state", "executing");
      else if (filterNames.includes(key)) parameters.append(key, value);
    }
    return go(`/list?${parameters}`);
  }
  try {
    const { operation } = await call("Show", { ref: text });
    go(`/operation/${operation.id}`);
  } catch (error) {
    try {
      const { graph } = await call("Graph", { graph: text });
      go(`/graph/${graph}`);
    } catch {
      toast(error.message);
    }
  }
}

// Links, keys and live updates

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.hasAttribute("download")) return;
  event.preventDefault();
  const href = link.getAttribute("href");
  if (href.startsWith("#")) document.querySelector(href).focus();
  else go(href);
});
addEventListener("popstate", show);
addEventListener("pagehide", () => sessionStorage.setItem("left", JSON.stringify({ address: address(), scroll: scrollY })));
history.scrollRestoration = "manual";

let prefix = null;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.closest?.("input:not([type=checkbox]), select");
  if (event.key === "Escape" && isTyping) return event.target.blur();
  if (isTyping || document.querySelector("dialog[open]")) return;
  if (prefix === "g") {
    prefix = null;
    const path = { n: "/", l: "/list", g: "/graphs", s: "/schedules" }[event.key];
    if (path) {
      event.preventDefault();
      return go(path);
    }
  }
  if (event.key === "g") {
    prefix = "g";
    setTimeout(() => { prefix = null; }, 1500);
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    return document.getElementById("field").focus();
  }
  if (event.key === "?") return keysHelp();
  if (view?.key?.(event)) return event.preventDefault();
  const id = document.activeElement?.getAttribute("href")?.match(/^\/operation\/(\d+)$/)?.[1];
  if (id && "rch".includes(event.key)) return steer(id, event.key);
  if (["j", "k", "ArrowDown", "ArrowUp"].includes(event.key)) moveFocus(event);
});

/** Retries, cancels, holds or resumes the focused operation. */
async function steer(id, key) {
  try {
    const { operation } = await call("Show", { ref: id });
    await act(verbOf(key, operation), [operation]);
  } catch (error) {
    toast(error.message);
  }
}

/** Moves from row to row of the tables of a view. */
function moveFocus(event) {
  const rows = [...document.querySelectorAll("#view a.name, #view [data-row]")].filter((row) => row.offsetParent !== null);
  if (!rows.length || (event.key.startsWith("Arrow") && !rows.includes(document.activeElement))) return;
  const step = event.key === "j" || event.key === "ArrowDown" ? 1 : -1;
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(document.activeElement) + step))];
  event.preventDefault();
  next.focus();
}

listen((event) => {
  if (event.state) {
    const before = connection;
    connection = event.state;
    frame();
    if (before !== "opening" && before !== "live" && event.state === "live") {
      announce("live again");
      view?.changed?.({ operations: null, graphs: null });
    }
  } else {
    if (connection !== "live") { connection = "live"; frame(); }
    view?.changed?.(event);
  }
});

try {
  Object.assign(app, await about());
  // After another 401, enter.js may load the page again.
  sessionStorage.removeItem("tried");
} catch { /* The state of the connection is shown anyway. */ }
frame();
connect();
show();
