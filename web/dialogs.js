// Questions before actions, and messages about their results.

import { call } from "./api.js";
import { announce, command, h } from "./dom.js";
import { count, references, title } from "./words.js";
import { app } from "./app.js";

let fading;
/** Shows a message for some seconds. */
export function toast(text) {
  document.querySelector(".toast")?.remove();
  clearTimeout(fading);
  document.body.append(h("div.toast", {}, text));
  announce(text);
  fading = setTimeout(() => document.querySelector(".toast")?.remove(), 6000);
}

/** Opens a dialog, and returns the value of the button that closes it, or null if the reader goes back. */
export function ask(heading, content, buttons) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "question" },
      h("h2", { id: "question" }, heading), content,
      h("div.buttons", {}, buttons.map(([word, value, kind]) =>
        h("button", { type: "button", class: kind ?? "", onclick: () => { dialog.returnValue = value; dialog.close(); } }, word))));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue || null);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks for confirmation of a change. `line` is the equivalent command. */
export async function confirm(heading, sentence, line, word) {
  const answer = await ask(heading, [h("p", {}, sentence), h("p", {}, command(line))], [["Back", ""], [word, "yes", "first"]]);
  return answer === "yes";
}

const verbs = {
  cancel: { word: "Cancel", done: "cancelled", method: "Cancel", danger: true },
  retry: { word: "Retry", done: "retried", method: "Retry" },
  hold: { word: "Hold", done: "held", method: "Suspend" },
  resume: { word: "Resume", done: "resumed", method: "Resume" },
};

/** Returns the action that a key stands for, if any. */
export const verbOf = (key, row) => ({ r: "retry", c: "cancel", h: row.held || row.frozen ? "resume" : "hold" })[key];

/** Reads the unfinished operations; if there are too many, the first from the lowest of these ids on. */
async function unfinished(ids) {
  const limit = 1000;
  const read = async (range) => (await call("List", { selection: { state: "active", ...range }, limit })).operations;
  const operations = await read();
  if (operations.length < limit) return { operations, areAll: true };
  const first = ids.reduce((a, b) => Math.min(a, b));
  return { operations: await read({ refs: [`${first}-${Number.MAX_SAFE_INTEGER}`] }), areAll: false };
}

/** Returns how operations end because of the cancellation of some: `cancelled` or `skipped`, by id. */
function endsAfter(ids, operations) {
  const ends = new Map(ids.map((id) => [id, "cancelled"])), failing = new Set();
  const isMissed = ({ id, when, satisfied }) => !satisfied
    && (when === "succeeded" ? ends.has(id) || failing.has(id) : when === "started" && ends.has(id));
  for (let before = -1; before !== ends.size + failing.size;) {
    before = ends.size + failing.size;
    for (const { id, group, dependencies } of operations) {
      const end = ends.get(id) ?? ends.get(group) ?? (dependencies.some(isMissed) ? "skipped" : null);
      if (end) ends.set(id, end);
      // A group fails with its children.
      if (end || failing.has(id)) failing.add(group);
    }
  }
  return ends;
}

/** Returns sentences about the operations that the cancellation of these affects. */
async function consequences(rows) {
  const ids = rows.filter((row) => row.state !== "finished").map((row) => row.id);
  const { operations, areAll } = await unfinished(ids).catch(() => ({ operations: [], areAll: false }));
  const byId = new Map([...rows, ...operations].map((row) => [row.id, row])), own = new Set(ids);
  const ends = endsAfter(ids, operations);
  const ended = (end) => [...ends.keys()].filter((id) => ends.get(id) === end).map((id) => byId.get(id));
  const cancelled = ended("cancelled"), running = cancelled.filter((row) => row.state === "executing" && !row.isGroup);
  const sentence = (some, word, rest) => some.length
    ? h("p", {}, `${areAll ? "" : "At least "}${count(some.length, word)} ${rest}.`) : null;
  const named = (some, rest) => sentence(some, "operation",
    `${rest}: ${some.slice(0, 5).map(title).join(", ")}${some.length > 5 ? ", …" : ""}`);
  return [
    sentence(running, "process tree", "will be asked to end, and killed after the grace period"),
    named(cancelled.filter((row) => !own.has(row.id)), "inside it will be cancelled"),
    named(ended("skipped"), "behind it will be skipped")
      ?? (areAll ? null : h("p", {}, "Operations behind it, if there are any, will be skipped.")),
  ];
}

/** Performs an action on operations, after a question if it cannot be undone. `rows` may be a part of the selection. */
export async function act(verb, rows, selection = { refs: references(rows.map((row) => row.id)) }) {
  const { word, done, method, danger } = verbs[verb];
  if (app.readOnly) return toast("This page is read-only. Start opsctl web without --read-only to change something.");
  const line = `opsctl ${method.toLowerCase()} ${selection.graph ? `--graph ${selection.graph}` : selection.refs.join(" ")}`;
  const what = selection.graph ? `graph ${selection.graph}` : rows.length === 1 ? `${title(rows[0])} (${rows[0].id})` : count(rows.length, "operation");
  if (danger || rows.length > 1) {
    const answer = await ask(`${word} ${what}?`, [
      danger ? await consequences(rows) : null,
      h("p", {}, command(line)),
    ], [["Back", ""], [`${word} ${what}`, "yes", danger ? "danger" : "first"]]);
    if (answer !== "yes") return null;
  }
  try {
    const reply = await call(method, { selection });
    toast(reply.touched === 1 ? `${what}: ${done}.` : `${count(reply.touched, "operation")} ${done}.`);
    return reply;
  } catch (error) {
    toast(error.message);
    return null;
  }
}

/** Asks for a text, and passes it to an action. */
async function askText(heading, label, value, word, send) {
  const input = h("input", { type: "text", value, maxlength: 4096, "aria-label": label });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") input.closest("dialog").querySelector(".first").click();
  });
  const answer = await ask(heading, [h("p.muted", {}, label), input], [["Back", ""], [word, "yes", "first"]]);
  if (answer !== "yes") return;
  try {
    toast(await send(input.value));
  } catch (error) {
    toast(error.message);
  }
}

export const askNote = (row) => askText(`Note beside ${title(row)}`, "Everyone who sees the operation sees the note. An empty note removes it.", row.note ?? "", "Store the note",
  async (text) => { await call("Note", { ref: String(row.id), text: text || null }); return "The note is stored."; });

export const askPriority = (row) => askText(`Priority of ${title(row)}`, "From -100 to 100; higher starts first.", String(row.priority), "Set the priority",
  async (text) => {
    if (!/^-?\d{1,3}$/.test(text.trim())) throw new Error("A priority is a number from -100 to 100. Nothing was changed.");
    await call("Set", { selection: { refs: [String(row.id)] }, changes: { priority: Number(text) } });
    return `The priority is ${text.trim()}.`;
  });

export async function whatIf(ref, question) {
  try {
    const { waitingFor, state } = await call("Why", { ref, whatIf: question });
    await ask(`If you did “${question}”`, waitingFor.length
      ? h("ul.reasons", {}, waitingFor.map((reason) => h("li", {}, reason.text)))
      : h("p", {}, state === "executing" ? "It would run." : "Nothing would keep it from starting."),
    [["Close", ""]]);
  } catch (error) {
    toast(error.message);
  }
}

export function keysHelp() {
  const keys = [
    ["j  k  ↓  ↑", "move"], ["Enter", "open"], ["x", "select"], ["r", "retry"], ["c", "cancel"], ["h", "hold or resume"],
    ["/", "go to or filter"], ["g n   g l   g g   g s", "Now, List, Graphs, Schedules"], ["+  -  0", "zoom a graph"], ["?", "these keys"],
  ];
  return ask("Keys", h("dl.facts", {}, keys.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])), [["Close", ""]]);
}

/** Returns the buttons of one operation, the most used first. */
export function actions(row, after = () => {}) {
  const button = (word, verb, isPossible) => isPossible
    ? h("button", { type: "button", class: verb === "cancel" ? "danger" : "", onclick: async () => { await act(verb, [row]); after(); } }, word) : null;
  const isOver = row.state === "finished";
  return app.readOnly ? [] : [
    button("Retry", "retry", isOver && row.outcome !== "succeeded"),
    button("Cancel", "cancel", !isOver),
    row.held || row.frozen ? button("Resume", "resume", true) : button("Hold", "hold", !isOver && row.state !== "executing"),
    isOver ? null : h("button", { type: "button", onclick: async () => { await askPriority(row); after(); } }, "Priority"),
    h("button", { type: "button", onclick: async () => { await askNote(row); after(); } }, "Note"),
  ];
}
