// Schedules: when they run next, and what became of their instants.

import { empty, h, update } from "./dom.js";

export function open(main) {
  async function load() {
    update(main, h("div.title", {}, h("h1", {}, "Schedules")), empty("This daemon has no schedules. Try an expression with", "opsctl schedule next --at '0 3 * * 1-5'"));
  }
  return { title: "Schedules", ready: load() };
}
