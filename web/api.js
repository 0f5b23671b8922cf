// Calls of the daemon, and its events.

/** A reply that is an error: `message` says what happened and what to do. */
export class Refusal extends Error {
  constructor(message, status, name) {
    super(message);
    this.status = status;
    this.name = name;
  }
}

const errors = {
  NotFound: (p) => `There is no ${p.kind} ${p.name}.` + (p.nearest ? ` Did you mean ${p.nearest}?` : ""),
  WrongState: (p) => p.message,
  PermissionDenied: (p) => `${p.message}. Nothing was changed.`,
  StorageUnavailable: (p) => `The disk takes nothing now: ${p.message}. Nothing was changed; try again later.`,
  Busy: (p) => `${p.message}. Nothing was changed; try again.`,
  InvalidOperation: (p) => p.problems.map((problem) => `${problem.key ?? ""} ${problem.message}`.trim()).join("; "),
  Cycle: (p) => `This would wait for itself: ${p.path.join(" → ")}.`,
  InvalidParameter: (p) => `opsd does not understand ${p.parameter}; opsd and opsd-web may be of different versions.`,
};

function refusal(status, body) {
  const name = body?.error?.split(".").pop();
  if (name) {
    const parameters = body.parameters ?? {};
    return new Refusal((errors[name] ?? (() => parameters.message ?? name))(parameters), status, name);
  }
  return new Refusal(body?.message ?? `opsd-web answered with ${status}`, status, null);
}

async function post(path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("opsd-web does not answer. Start it again with opsctl web.", 0, "Gone");
  }
  if (response.status === 401) throw new Refusal("This session is over. Open the link that opsctl web prints.", 401, "Session");
  return response;
}

/** Calls a method of the daemon and returns its parameters. */
export async function call(method, parameters = {}, signal) {
  const response = await post("/call", { method, parameters }, signal);
  const body = await response.json().catch(() => null);
  if (!response.ok || body?.error) throw refusal(response.status, body);
  return body.parameters;
}

/** Calls `each` with every reply to a call of Log. */
export async function follow(parameters, signal, each) {
  const response = await post("/follow", { method: "Log", parameters }, signal);
  if (!response.ok) throw refusal(response.status, await response.json().catch(() => null));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const reply = JSON.parse(line);
      if (reply.error) throw refusal(400, reply);
      each(reply.parameters);
    }
  }
}

/** Returns the drawing of a graph as an element. Parsed by the browser as a document: no text becomes markup of the page. */
export function drawing(graph) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/drawing");
    request.setRequestHeader("Content-Type", "application/json");
    request.responseType = "document";
    request.onload = () => {
      const root = request.response?.documentElement;
      if (request.status === 200 && root?.localName === "svg") resolve(document.importNode(root, true));
      else reject(new Refusal("This graph has no picture; the table has all of its operations.", request.status, null));
    };
    request.onerror = () => reject(new Refusal("opsd-web does not answer.", 0, "Gone"));
    request.send(JSON.stringify({ method: "Graph", parameters: { graph } }));
  });
}

export const about = async () => (await fetch("/about")).json();

// Events. One tab of a browser holds the stream and passes it on: browsers open six connections to a host, not a hundred.

const listeners = new Set();
const channel = new BroadcastChannel("opsd-events");
let seen = null;

function publish(event) {
  if (event.to !== undefined) {
    // A new leader begins where the last one stopped.
    if (seen !== null && event.to <= seen && event.operations !== null) return;
    seen = event.to;
  }
  for (const listener of listeners) listener(event);
}

function share(event) {
  publish(event);
  channel.postMessage(event);
}

channel.onmessage = ({ data }) => {
  if (data === "hello") {
    if (state) channel.postMessage({ state });
  } else {
    publish(data);
  }
};

let state = null;

function lead() {
  return new Promise(() => {
    let source;
    const open = () => {
      source = new EventSource(seen === null ? "/events" : `/events?since=${seen}`);
      source.onmessage = ({ data }) => {
        if (state !== "live") share({ state: (state = "live") });
        share(JSON.parse(data));
      };
      source.addEventListener("lost", () => share({ state: (state = "lost") }));
      source.onerror = () => {
        share({ state: (state = "gone") });
        // A browser gives up on a refusal, such as that of a restarted opsd-web.
        if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
      };
    };
    open();
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => event.persisted && open());
  });
}

/** Calls a listener with `{state}` (live, lost, gone) and with `{from, to, operations, graphs}`; returns its end. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function connect() {
  channel.postMessage("hello");
  if (navigator.locks) navigator.locks.request("opsd-events", lead);
  else lead();
}
