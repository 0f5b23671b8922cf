// Connects to the daemon from Cockpit: Varlink through a channel to the daemon's socket, with the rights of the user.

/* global cockpit */

const encoder = new TextEncoder();
/** Milliseconds between two reports of changes, and before the next attempt to connect. */
const pause = 200, patience = 3000;
/** Maximum number of operations that a report names. With more, the report means any operation. */
const most = 500;

class Failure extends Error {
  constructor(message, name = null) {
    super(message);
    Object.assign(this, { status: 0, name });
  }
}

let found = null;
/** Finds the socket once, as opsctl does: the socket of the user's own daemon, or that of the system's daemon. */
function socket() {
  const script = 'for path in "${OPS_SOCKET-}" "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/opsd/control.sock" /run/opsd/control.sock; do [ -S "$path" ] && printf %s "$path" && exit; done; exit 1';
  found ??= cockpit.spawn(["sh", "-c", script]).catch(() => {
    found = null;
    throw new Failure("opsd is not running here: there is no socket of this user or of the system.", "Gone");
  });
  return found;
}

/** Sends a call, and passes its replies to `each` until that returns true, the channel closes or the signal aborts. */
async function exchange(method, parameters, more, signal, each) {
  const unix = await socket();
  await new Promise((resolve, reject) => {
    const channel = cockpit.channel({ payload: "stream", unix, binary: true });
    const decoder = new TextDecoder();
    let rest = "", isOver = false;
    const end = (error) => {
      if (isOver) return;
      isOver = true;
      channel.close();
      if (error) reject(error); else resolve();
    };
    channel.addEventListener("message", (_, data) => {
      const messages = (rest + decoder.decode(data, { stream: true })).split("\0");
      rest = messages.pop();
      try {
        for (const message of messages) {
          if (isOver) return;
          const reply = JSON.parse(message);
          if (each(reply) || !reply.continues) end();
        }
      } catch (error) {
        end(error);
      }
    });
    channel.addEventListener("close", (_, options) => {
      if (options.problem === "not-found") found = null;
      end(new Failure(options.problem === "access-denied"
        ? "This user may not open the socket of opsd." : "opsd does not answer.", "Gone"));
    });
    signal?.addEventListener("abort", () => end(new DOMException("aborted", "AbortError")));
    if (signal?.aborted) return end(new DOMException("aborted", "AbortError"));
    channel.send(encoder.encode(`${JSON.stringify({ method: `org.opsd.Control.${method}`, parameters, more })}\0`));
  });
}

/** Returns the daemon's reply to a call: an object with `parameters` and, if the call failed, `error`. */
export async function request(method, parameters, signal) {
  let found;
  await exchange(method, parameters, false, signal, (reply) => { found = reply; return true; });
  return found;
}

/** Calls Log, and passes each reply to `each`. */
export const stream = (parameters, signal, each) => exchange("Log", parameters, true, signal, (reply) => { each(reply); });

/** Returns the drawing of a graph as an element. It is parsed as a separate document, so no text becomes markup of the page. */
export async function drawing(graph) {
  try {
    // The page sets the colours.
    const text = await cockpit.spawn(["opsctl", "--socket", await socket(), "graph", graph, "--svg"], { err: "ignore" });
    const root = new DOMParser().parseFromString(text.replace(/<style>[^]*?<\/style>/, ""), "image/svg+xml").documentElement;
    if (root.localName !== "svg") throw new Failure("");
    root.querySelector("rect.paper")?.remove();
    // The title of a box begins with the id of its operation. A box of several operations has no id, and opens nothing.
    for (const node of root.querySelectorAll("g")) {
      const id = node.querySelector(":scope > title")?.textContent.match(/^(\d+) (?!operations: )/)?.[1];
      if (id) node.setAttribute("data-ids", id);
    }
    return document.importNode(root, true);
  } catch { /* opsctl is missing or fails. */ }
  throw new Failure("This graph has no picture; the table has all of its operations.");
}

export async function about() {
  const host = await cockpit.file("/proc/sys/kernel/hostname").read();
  return { readOnly: false, host: (host ?? "").trim(), socket: await socket() };
}

/** Opens the stream of changes after the event that `seen` returns. `report` gets `{state}` and `{from, to, operations, graphs}`. */
export async function watch(seen, report) {
  let change = null, timer = null, isPruned = false;
  const flush = () => {
    timer = null;
    report({ state: "live", from: change.from, to: change.to, operations: change.operations.size > most ? null : [...change.operations], graphs: change.operations.size > most ? null : [...change.graphs] });
    change = null;
  };
  for (;;) {
    try {
      const last = isPruned ? null : seen();
      const since = last ?? (await request("Status", {})).parameters.lastSeq;
      // Missed events may have changed anything.
      const named = last === null ? null : [];
      report({ state: "live", from: since + 1, to: since, operations: named, graphs: named });
      isPruned = false;
      await exchange("Watch", { since }, true, null, (reply) => {
        if (reply.error) {
          isPruned = true;
          throw new Failure(reply.error);
        }
        const { seq, id, graph } = reply.parameters.event;
        change ??= { from: seq, operations: new Set(), graphs: new Set() };
        change.to = seq;
        if (id !== null && id !== undefined && change.operations.size <= most) change.operations.add(id);
        if (graph) change.graphs.add(graph);
        timer ??= setTimeout(flush, pause);
      });
    } catch { /* The loop connects again. */ }
    report({ state: "lost" });
    await new Promise((resolve) => setTimeout(resolve, patience));
  }
}

// The fragment is the address of a view. Cockpit includes it in its own address.
export const address = () => location.hash.slice(1) || "/";
export const link = (address) => `#${address}`;
/** Reports an address to Cockpit that changed without a navigation. */
export const moved = () => dispatchEvent(new HashChangeEvent("hashchange"));
