// Words, symbols and times, which are the same in opsctl.

const outcomes = {
  succeeded: ["✓", "succeeded"], failed: ["✗", "failed"], timedOut: ["✗", "timed out"], cancelled: ["⊘", "cancelled"],
  skipped: ["↷", "skipped"], interrupted: ["‼", "interrupted"],
};

/** Returns symbol, word and colour class of an operation or a node of a graph. */
export function standing(row) {
  if (row.outcome) {
    if (row.notNeeded) return { symbol: "↷", word: "not needed", tone: "skipped" };
    const [symbol, word] = outcomes[row.outcome] ?? ["·", row.outcome];
    return { symbol, word, tone: row.outcome };
  }
  if (row.state === "executing") {
    if (row.cancelling) return { symbol: "●", word: "cancelling", tone: "cancelled" };
    if (row.frozen) return { symbol: "❄", word: "frozen", tone: "held" };
    return { symbol: "●", word: "running", tone: "executing" };
  }
  if (row.held) return { symbol: "⏸\ufe0e", word: "held", tone: "held" };
  if (row.scheduled || Date.parse(row.notBefore) > Date.now()) return { symbol: "◷", word: "scheduled", tone: "scheduled" };
  if (row.state === "ready") return { symbol: "○", word: "ready", tone: "ready" };
  return { symbol: "·", word: row.state ?? "pending", tone: "pending" };
}

export const title = (row) => row.name ?? (row.command ? row.command.join(" ").slice(0, 60) : null) ?? `operation ${row.id}`;

/** Returns a duration in at most two units. */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (number) => String(number).padStart(2, "0");
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (seconds < 10) return `${(Math.floor(milliseconds / 100) / 10).toFixed(1)} s`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${two(Math.floor(seconds / 3600) % 24)} h`;
}

export const absolute = (text) => new Date(text).toLocaleString();

/** Returns an instant relative to now. */
export function relative(text) {
  const difference = Date.parse(text) - Date.now();
  if (Math.abs(difference) < 1000) return "now";
  const length = duration(Math.abs(difference)).split(" ").slice(0, 2).join(" ");
  return difference > 0 ? `in ${length}` : `${length} ago`;
}

/** Returns the milliseconds for which an operation has run, or null if it has not started or waits. */
export function runTime(row) {
  if (!row.startedAt || row.state === "ready" || row.state === "pending") return null;
  return Math.max(0, (row.finishedAt ? Date.parse(row.finishedAt) : Date.now()) - Date.parse(row.startedAt));
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;

export function median(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/** Quotes a word for a shell. */
export const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Returns ids as references. Consecutive ids are written as a range. */
export function references(ids) {
  const sorted = [...ids].sort((a, b) => a - b);
  const refs = [];
  for (let start = 0; start < sorted.length;) {
    let end = start;
    while (sorted[end + 1] === sorted[end] + 1) end += 1;
    refs.push(end === start ? `${sorted[start]}` : `${sorted[start]}-${sorted[end]}`);
    start = end + 1;
  }
  return refs;
}
