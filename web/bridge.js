// Connects to the daemon through opsd-web. The page in Cockpit has another module with this name.

/** A missing response, or an error of opsd-web itself. */
class Failure extends Error {
  constructor(message, status, name = null) {
    super(message);
    Object.assign(this, { status, name });
  }
}

async function post(path, body, signal) {
  let response;
  try {
    response = await fetch(path, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("opsd-web does not answer. Start it again with opsctl web.", 0, "Gone");
  }
  if (response.status === 401) throw new Failure("This session is over. Open the link that opsctl web prints.", 401, "Session");
  return response;
}

async function failure(response) {
  const body = await response.json().catch(() => null);
  return new Failure(body?.message ?? `opsd-web answered with ${response.status}`, response.status);
}

/** Returns the daemon's reply to a call: an object with `parameters` and, if the call failed, `error`. */
export async function request(method, parameters, signal) {
  const response = await post("/call", { method, parameters }, signal);
  const text = await response.text();
  let body = null;
  try { body = JSON.parse(text); } catch { /* The status is shown instead. */ }
  if (body?.error || (response.ok && body)) return body;
  throw new Failure(body?.message ?? `opsd-web answered with ${response.status}`, response.status);
}

/** Calls Log, and passes each reply to `each`. */
export async function stream(parameters, signal, each) {
  const response = await post("/follow", { method: "Log", parameters }, signal);
  if (!response.ok) throw await failure(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    // opsd-web sends an empty line from time to time, to notice closed connections.
    for (const line of lines) if (line) each(JSON.parse(line));
  }
}

/** Returns the drawing of a graph. It is parsed as a document of its own, so no text becomes markup of the page. */
export function drawing(graph) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/drawing");
    request.setRequestHeader("Content-Type", "application/json");
    request.responseType = "document";
    request.onload = () => {
      const root = request.response?.documentElement;
      if (request.status === 200 && root?.localName === "svg") resolve(document.importNode(root, true));
      else reject(new Failure("This graph has no picture; the table has all of its operations.", request.status));
    };
    request.onerror = () => reject(new Failure("opsd-web does not answer.", 0, "Gone"));
    request.send(JSON.stringify({ method: "Graph", parameters: { graph } }));
  });
}

export const about = async () => (await fetch("/about")).json();

/** Opens the stream of changes after the event that `seen` returns. `report` gets `{state}` and `{from, to, operations, graphs}`. */
export function watch(seen, report) {
  let source;
  const open = () => {
    source = new EventSource(seen() === null ? "/events" : `/events?since=${seen()}`);
    source.onmessage = ({ data }) => report({ state: "live", ...JSON.parse(data) });
    source.addEventListener("lost", () => report({ state: "lost" }));
    source.onerror = () => {
      report({ state: "gone" });
      // A browser does not reconnect after an error status, such as that of a restarted opsd-web.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
    };
  };
  open();
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => event.persisted && open());
}

// The address of a view.
export const address = () => location.pathname + location.search;
export const link = (address) => address;
export const moved = () => {};
