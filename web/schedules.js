// The view Schedules: when each schedule runs next, and the results of its latest instants.

import { call } from "./api.js";
import { app } from "./app.js";
import { ask, confirm, toast } from "./dialogs.js";
import { command, empty, h, update } from "./dom.js";
import { label, problem, refresher, state, table, time } from "./parts.js";
import { absolute, count, quoted, relative, standing } from "./words.js";

/** Number of instants in a strip. */
const stripLength = 30;
/** Number of schedules with a strip in the list. Each strip takes a call. */
const mostStrips = 40;
/** Maximum number of instants of a backfill. */
const most = 1000;

export const open = (main, [name]) => name ? one(main, name) : all(main);

const results = {
  skipped: ["↷", "skipped", "skipped"], missed: ["✗", "missed", "failed"], paused: ["⏸\ufe0e", "paused", "held"],
  refused: ["⊘", "refused", "timedOut"],
};

/** Returns symbol, word and colour class of a record of instants. */
function resultOf(run) {
  const [symbol, word, tone] = results[run.result] ?? [];
  if (symbol) return { symbol, word, tone };
  return run.outcome ? standing({ outcome: run.outcome }) : { symbol: "●", word: "running", tone: "executing" };
}

/** Returns a text for the instants of a record. */
function instants(run) {
  return run.count > 1 ? `${count(run.count, "instant")} from ${absolute(run.nominal)} to ${absolute(run.through)}` : absolute(run.nominal);
}

/** A trigger can start several runs at one instant. */
const identity = (run) => `${run.nominal} ${run.origin} ${run.at} ${run.graph ?? run.key}`;

/** Returns a strip with one cell for each of the latest instants, the newest at the right. */
function strip(runs) {
  return h("ol.strip", {}, runs.slice(0, stripLength).reverse().map((run) => {
    const { symbol, word, tone } = resultOf(run);
    const text = `${instants(run)}: ${word}${run.note ? `, ${run.note}` : ""}`;
    const content = [h("span", { "aria-hidden": "true" }, symbol), h("span.unseen", {}, text)];
    return h("li", { class: `tone-${tone}`, title: text, "data-key": identity(run) },
      run.graph ? h("a", { href: `/graph/${run.graph}`, class: `tone-${tone}` }, content) : h("span", { tabindex: 0 }, content));
  }));
}

/** Returns whether an expression has instants. Others name an event. */
const isCalendar = (text) => !/^(onPath|onExec|afterFinish|@reboot)\b/.test(text);

const expressions = (schedule) => [schedule.at.join(", "), h("span.muted", {}, ` ${schedule.zone}`)];
const next = (schedule) => schedule.paused ? label(resultOf({ result: "paused" }))
  : schedule.next ? time(schedule.next) : h("span.muted", {}, schedule.problem ?? (schedule.at.every(isCalendar) ? "never again" : "by event"));
const last = (schedule) => !schedule.last ? ""
  : schedule.last.outcome ? state({ outcome: schedule.last.outcome }) : state({ state: "executing" });

/** Returns the name of a schedule, with its user if several users have a schedule of that name. */
const reference = ({ name, user }, all) => all.some((other) => other.name === name && other.user !== user) ? `${name}@${user}` : name;

function all(main) {
  let schedules = null, failure = null;
  const strips = new Map();
  const refresh = refresher(async () => {
    try {
      ({ schedules } = await call("ListSchedules"));
      draw();
      const read = schedules;
      await Promise.all(read.slice(0, mostStrips).map(async (schedule) => {
        const name = reference(schedule, read);
        strips.set(name, (await call("ScheduleRuns", { name, limit: stripLength })).runs);
      }));
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 2000);

  function draw() {
    update(main, h("div.title", {}, h("h1", {}, "Schedules"), h("span.crumb.wide", {}, command("opsctl schedule ls"))),
      problem(failure),
      !schedules ? null : schedules.length
        ? table("Schedules", [["Name", "c-schedule"], ["Runs at", "wide"], ["Next", "c-time"], ["Last", "c-state"], ["Missed", "c-small number wide"], ["Latest instants", "c-strip wide"]],
          schedules.map((schedule) => ({ key: `${schedule.user} ${schedule.name}`, cells: [
            h("a.name", { href: `/schedule/${encodeURIComponent(reference(schedule, schedules))}` }, reference(schedule, schedules)), expressions(schedule),
            next(schedule), last(schedule), schedule.missed ? h("span.tone-failed", {}, schedule.missed.toLocaleString()) : "0",
            strip(strips.get(reference(schedule, schedules)) ?? [])] })))
        : empty("This daemon has no schedules. Add one with", "opsctl schedule add nightly --at '0 3 * * 1-5' -- make"));
  }
  return { title: "Schedules", ready: refresh.run(), changed: refresh.again, leave: refresh.end };
}

function one(main, name) {
  let schedule = null, runs = [], reasons = [], failure = null;
  const refresh = refresher(async () => {
    try {
      const [found, records, why] = await Promise.all([call("ListSchedules", { name }), call("ScheduleRuns", { name, limit: 200 }), call("WhySchedule", { name })]);
      [schedule] = found.schedules;
      ({ runs } = records);
      reasons = why.waitingFor.filter(({ kind }) => !results[kind]);
      failure = null;
    } catch (error) {
      failure = error;
    }
    draw();
  }, 1500);

  async function change(method, parameters, done) {
    try {
      toast(done(await call(method, { name, ...parameters })));
    } catch (error) {
      toast(error.message);
    }
    refresh.again();
  }

  async function runNow() {
    const line = `opsctl schedule run ${quoted(name)}`;
    if (await confirm(`Run ${name} now?`, "This run is in addition to the calendar: the next instant stays the same.", line, "Run now")) {
      await change("RunSchedule", {}, ({ graph }) => `${name} runs as ${graph}.`);
    }
  }

  async function pause() {
    const line = `opsctl schedule pause ${quoted(name)}`;
    if (await confirm(`Pause ${name}?`, "Instants during the pause are recorded as paused and not caught up. Runs that have started continue.", line, "Pause")) {
      await change("PauseSchedule", { paused: true }, () => `${name} is paused.`);
    }
  }

  /** Asks for a period, shows its instants, and starts a run for each instant that has not run. */
  async function backfill() {
    const local = (instant) => new Date(instant - new Date(instant).getTimezoneOffset() * 60e3).toISOString().slice(0, 16);
    const field = (label, instant) => h("input", { type: "datetime-local", "aria-label": label, value: local(instant) });
    const from = field("First instant", Date.now() - 7 * 864e5), to = field("Last instant", Date.now());
    const overlap = h("select", { "aria-label": "Runs" }, h("option", { value: "queueAll" }, "one after the other"), h("option", { value: "allow" }, "together"));
    const preview = h("div", { "aria-live": "polite" });
    let turn = 0, span = null;
    async function look() {
      const mine = ++turn;
      span = null;
      try {
        const [first, last] = [new Date(from.value), new Date(to.value)];
        if (!(first <= last)) throw new Error("The first instant must not be after the last one.");
        const { instants } = await call("ScheduleInstants", { name, after: new Date(first - 1).toISOString(), limit: most });
        const { runs: records } = await call("ScheduleRuns", { name, limit: most });
        if (mine !== turn) return;
        const past = new Set(records.filter((run) => run.result === "run").map((run) => Date.parse(run.nominal)));
        const all = instants.filter(({ nominal }) => Date.parse(nominal) <= last), wanted = all.filter(({ nominal }) => !past.has(Date.parse(nominal)));
        span = { from: first.toISOString(), to: all.length === most ? all.at(-1).nominal : last.toISOString() };
        const shown = wanted.length > 8 ? [...wanted.slice(0, 4), null, ...wanted.slice(-3)] : wanted;
        // There may be older records.
        const atMost = records.length === most ? "At most " : "";
        update(preview, h("p", {}, `${atMost}${count(wanted.length, "run")} of ${count(all.length, "instant")}${all.length === wanted.length ? "" : "; the others have run"}:`),
          all.length === most ? h("p", {}, `More than ${count(most, "instant")} cannot be started together, so the last one is ${absolute(span.to)}.`) : null,
          h("ul", {}, shown.map((one) => h("li", {}, one ? absolute(one.nominal) : "…"))),
          command(`opsctl schedule backfill ${quoted(name)} --from ${span.from} --to ${span.to} --overlap ${overlap.value}`));
      } catch (error) {
        if (mine === turn) update(preview, h("p", {}, error.message));
      }
    }
    for (const one of [from, to, overlap]) one.addEventListener("change", look);
    look();
    const answer = await ask(`Backfill ${name}`, [h("p.tools", {}, from, "through", to, overlap), preview], [["Back", ""], ["Start these runs", "yes", "first"]]);
    if (answer !== "yes") return;
    if (!span) return toast("Nothing was started: the span has no instants.");
    await change("BackfillSchedule", { ...span, overlap: overlap.value }, ({ runs: made, present }) => `${count(made.length, "run")} started${present ? `; ${present} had run before` : ""}.`);
  }

  const resume = () => change("PauseSchedule", { paused: false }, () => `${name} runs again at its next instant.`);

  function draw() {
    if (!schedule) return update(main, h("div.title", {}, h("h1", {}, name)), problem(failure));
    const button = (word, action) => h("button", { type: "button", onclick: action }, word);
    update(main,
      h("div.title", {}, h("h1", {}, name), h("span.crumb", {}, `schedule of ${schedule.user}`),
        app.readOnly ? null : h("div.actions", {}, button("Run now", runNow), schedule.at.some(isCalendar) ? button("Backfill", backfill) : null, schedule.paused ? button("Resume", resume) : button("Pause", pause))),
      problem(failure),
      h("p.sentence", {}, schedule.paused ? "Paused: nothing runs until it is resumed."
        : schedule.next ? `Runs next ${relative(schedule.next)} (${absolute(schedule.next)}).` : `${reasons.map(({ text }) => text).join("; ")}.`),
      h("dl.facts", {},
        h("dt", {}, "runs at"), h("dd", {}, expressions(schedule)),
        h("dt", {}, "while a run is unfinished"), h("dd", {}, schedule.overlap),
        h("dt", {}, "catches up"), h("dd", {}, schedule.catchUp),
        h("dt", {}, "missed"), h("dd", {}, count(schedule.missed, "instant")),
        h("dt", {}, "in the terminal"), h("dd", {}, command(`opsctl schedule runs ${quoted(name)}`))),
      h("section", {}, h("h2", {}, "Latest instants"), runs.length ? strip(runs) : empty("No instant has been due yet.")),
      runs.length ? h("section", {}, h("h2", {}, "Records"),
        table("Records", [["Result", "c-state"], ["Instant"], ["Graph", "c-time"], ["Why", "wide"], ["Origin", "c-time wide"]],
          runs.map((run) => ({ key: identity(run), cells: [
            label(resultOf(run)),
            instants(run), run.graph ? h("a", { href: `/graph/${run.graph}` }, run.graph) : "",
            h("span.reason", { title: run.note ?? "" }, run.note ?? ""), run.origin] })))) : null);
  }
  return { title: name, ready: refresh.run(), changed: refresh.again, leave: refresh.end };
}
