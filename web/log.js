// The output of an attempt. The view follows new output if it is scrolled to the end.

import { follow } from "./api.js";
import { announce, h, update } from "./dom.js";
import { toast } from "./dialogs.js";
import { LogText, bytesOf } from "./ansi.js";
import { absolute } from "./words.js";

/** Number of lines that are shown first. The rest is loaded on demand. */
const lines = 2000;
/** Maximum number of lines that have elements. */
const mostLines = 20000;
const blockLines = 200;

export function logView({ id, attempt, isRunning, isError }) {
  const pane = h("div.log", { tabindex: 0, role: "log", "aria-label": isError ? "Error output" : "Output", "aria-live": "off", "data-own": true });
  const tools = h("div.tools", {});
  const root = h("div", { "data-own": true }, tools, pane);
  let text = new LogText(), stopper = new AbortController(), offset = null, block = null, total = 0, tail = null, isAtEnd = true;
  let isWhole = false, isPaused = false, isOver = false, begunAt = null, dropped = 0, failure = null, word = null;
  let wraps = localStorage.getItem("wrap") === "yes";
  pane.classList.toggle("wrap", wraps);

  pane.addEventListener("scroll", () => {
    // Emptying the pane scrolls it too.
    if (pane.firstChild) isAtEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 24;
  }, { passive: true });

  function lineElement(parts) {
    const line = h("div", { "data-at": begunAt });
    for (const { text: piece, classes } of parts) {
      if (!classes) line.append(piece);
      else line.append(h("span", { class: classes }, piece));
    }
    if (!parts.length) line.append("\u200b");
    if (word) highlight(line);
    return line;
  }

  function push(parts) {
    if (!block || block.childElementCount >= blockLines) {
      block?.classList.add("full");
      pane.append(block = h("div.block"));
    }
    block.append(lineElement(parts));
    total += 1;
    if (total > mostLines && isAtEnd) {
      total -= pane.firstElementChild.childElementCount;
      pane.firstElementChild.remove();
      isWhole = false;
    }
  }

  /** Adds the part of a reply that was written at one instant. */
  function add(bytes, at) {
    if (!text.rest) begunAt = at;
    for (const parts of text.add(bytes)) {
      push(parts);
      begunAt = at;
    }
  }

  async function read(from) {
    isPaused = isOver = false;
    stopper.abort();
    stopper = new AbortController();
    const mine = stopper;
    const parameters = { ref: String(id), attempt, stderr: isError || null, follow: isRunning || null, times: true };
    if (from === null) parameters.lines = lines;
    else parameters.offset = from;
    try {
      await follow(parameters, mine.signal, (reply) => {
        if (mine.signal.aborted) return;
        // A reader who is not at the end keeps the lines that are shown, and asks for more.
        if (total >= mostLines && !isAtEnd && reply.data) {
          isPaused = true;
          mine.abort();
          return draw();
        }
        if (offset === null && reply.offset === 0) isWhole = true;
        const bytes = bytesOf(reply.data);
        offset = reply.offset + bytes.length;
        dropped = reply.dropped ?? dropped;
        tail?.remove();
        const times = reply.times ?? [], starts = [...times.map((time) => time.offset - reply.offset), bytes.length];
        times.forEach(({ at }, index) => add(bytes.subarray(starts[index], starts[index + 1]), absolute(at)));
        const last = text.last();
        tail = last ? lineElement(last) : null;
        if (tail) (block ?? pane.appendChild(block = h("div.block"))).append(tail);
        if (isAtEnd) pane.scrollTop = pane.scrollHeight;
        if (total < 3 || !isWhole) draw();
      });
      isOver = !mine.signal.aborted;
      failure = null;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.name === "Gone" || error.status === 502) {
        // opsd restarts. The operation continues meanwhile, and so does its output.
        failure = new Error("opsd does not answer. The output continues here when it is back.");
        setTimeout(() => mine === stopper && !mine.signal.aborted && read(offset), 1000);
        return draw();
      }
      failure = isError && error.name === "WrongState" ? new Error("Standard error is in the same output.") : error;
    }
    draw();
  }

  function clear() {
    pane.replaceChildren();
    [block, tail, total, isWhole] = [null, null, 0, false];
  }

  function restart(from) {
    clear();
    [text, offset, isWhole, isAtEnd] = [new LogText(), null, from === 0, from === null];
    read(from);
  }

  function showNext() {
    clear();
    isAtEnd = false;
    read(offset);
  }

  function showEnd() {
    if (isPaused) return restart(null);
    isAtEnd = true;
    pane.scrollTop = pane.scrollHeight;
  }

  /** Marks the matches of the word in a line. */
  function highlight(line) {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (let node of nodes) {
      for (let match; (match = node.data.match(word));) {
        const found = node.splitText(match.index), mark = h("mark");
        node = found.splitText(match[0].length);
        found.replaceWith(mark);
        mark.append(found);
      }
    }
  }

  function find(value) {
    for (const mark of pane.querySelectorAll("mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
    word = value && new RegExp(value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "iu");
    if (!word) return announce("");
    for (const line of pane.querySelectorAll(".block > div")) highlight(line);
    const marks = pane.querySelectorAll("mark");
    announce(marks.length ? `${marks.length} found` : "not found");
    if (marks.length) { isAtEnd = false; marks[0].scrollIntoView({ block: "center" }); }
  }

  async function download() {
    const parts = [];
    try {
      await follow({ ref: String(id), attempt, stderr: isError || null, offset: 0 }, undefined, (reply) => parts.push(bytesOf(reply.data)));
    } catch (error) {
      return toast(error.message);
    }
    const link = h("a", { href: URL.createObjectURL(new Blob(parts, { type: "text/plain" })), download: `operation-${id}-${attempt ?? "newest"}.${isError ? "err" : "log"}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function draw() {
    update(tools,
      h("input", { type: "search", placeholder: "find", "aria-label": "Find in the output", onchange: (event) => find(event.target.value) }),
      h("button.quiet", { type: "button", "aria-pressed": wraps, onclick: () => { wraps = !wraps; localStorage.setItem("wrap", wraps ? "yes" : "no"); pane.classList.toggle("wrap", wraps); draw(); } }, wraps ? "Do not wrap" : "Wrap"),
      h("button.quiet", { type: "button", "aria-pressed": pane.classList.contains("times"), title: "Show when each line was written", onclick: () => { pane.classList.toggle("times"); draw(); } }, "Times"),
      isWhole || offset === null ? null : h("button.quiet", { type: "button", onclick: () => restart(0) }, "From the beginning"),
      isPaused ? h("button.quiet", { type: "button", onclick: showNext }, "Next lines") : null,
      h("button.quiet", { type: "button", onclick: showEnd }, "To the end"),
      h("button.quiet", { type: "button", onclick: download }, "Download"),
      h("span.muted", {}, failure ? failure.message : isPaused ? "More lines follow." : dropped ? `The first ${dropped.toLocaleString()} bytes are no longer stored.` : isOver && !total && !tail ? "Nothing was written." : isRunning && !isOver ? "live" : ""));
  }

  // A hidden tab closes its connection, because a browser opens at most six.
  const visibility = () => {
    if (document.hidden) stopper.abort();
    else if (!isOver && !isPaused) read(offset);
  };
  document.addEventListener("visibilitychange", visibility);
  draw();
  read(null);
  return { root, end() { stopper.abort(); document.removeEventListener("visibilitychange", visibility); } };
}
