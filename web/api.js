// Calls the daemon, and receives its events.

import { about, drawing, request, stream, watch } from "./bridge.js";

/** An error reply. `message` describes the error and a remedy. */
export class Refusal extends Error {
  constructor(message, name) {
    super(message);
    this.name = name;
  }
}

const errors = {
  NotFound: (p) => `There is no ${p.kind} ${p.name}.` + (p.nearest ? ` Did you mean ${p.nearest}?` : ""),
  WrongState: (p) => p.message,
  PermissionDenied: (p) => `${p.message}. Nothing was changed.`,
  StorageUnavailable: (p) => `Storage is unavailable: ${p.message}. Nothing was changed; try again later.`,
  Busy: (p) => `${p.message}. Nothing was changed; try again.`,
  InvalidOperation: (p) => p.problems.map((problem) => `${problem.key ?? ""} ${problem.message}`.trim()).join("; "),
  TooLarge: (p) => `${p.what} may be at most ${p.limit}. Nothing was changed.`,
  Cycle: (p) => `This would create a cycle: ${p.path.join(" → ")}.`,
  InvalidParameter: (p) => `opsd does not understand ${p.parameter}; opsd and opsd-web may be of different versions.`,
};

function refusal(reply) {
  const name = reply.error.split(".").pop(), parameters = reply.parameters ?? {};
  return new Refusal((errors[name] ?? (() => parameters.message ?? name))(parameters), name);
}

/** Calls a method of the daemon, and returns the parameters of its reply. */
export async function call(method, parameters = {}, signal) {
  const reply = await request(method, parameters, signal);
  if (reply.error) throw refusal(reply);
  return reply.parameters;
}

/** Calls `each` with every reply to a call of Log. */
export function follow(parameters, signal, each) {
  return stream(parameters, signal, (reply) => {
    if (reply.error) throw refusal(reply);
    each(reply.parameters);
  });
}

export { about, drawing };

// Events. One tab reads the stream for all, because a browser opens at most six connections to a host.

const listeners = new Set();
const channel = new BroadcastChannel("opsd-events");
let seen = null;

function publish(event) {
  if (event.to !== undefined) {
    // A new leader continues after the last event of the previous one.
    if (seen !== null && event.to <= seen && event.operations !== null) return;
    // Changes before the opening of the stream are not in its first message.
    if (seen === null) event = { ...event, operations: null, graphs: null };
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
  return new Promise(() => watch(() => seen, ({ state: now, ...change }) => {
    if (now !== state || now === "gone") share({ state: (state = now) });
    if (change.to !== undefined) share(change);
  }));
}

/** Calls a listener with `{state}` (live, lost, gone) and with `{from, to, operations, graphs}`. Returns a function that stops it. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function connect() {
  channel.postMessage("hello");
  if (navigator.locks) navigator.locks.request("opsd-events", lead);
  else lead();
}
