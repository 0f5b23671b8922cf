/// The supported, readable side of the first schema, for `sqlite3 -readonly`: words and RFC 3339 instants.
let v001Views = views(outcomes: firstOutcomeWords)

/// Returns the view of operations. `more` is put into its columns.
func operationsView(outcomes outcomeWords: [String], more: String = "", frozen: String = "o.frozen") -> String {
    """
    CREATE VIEW operations AS
    SELECT o.id, o.name, 'g' || s.graph AS graph, q.name AS queue,
        \(words("o.state", stateWords)) AS state,
        \(words("o.outcome", outcomeWords)) AS outcome,\(more)
        o.cause, c.body AS command, o.priority, o.attempt, o.run, a.exitCode, a.signal,
        EXISTS (SELECT 1 FROM ending WHERE operation = o.id) AS cancelling, \(frozen),
        (o.flags & 4) <> 0 AS held, (o.flags & 1) <> 0 AS isGroup, (o.flags & 2) <> 0 AS barrier,
        (SELECT json_group_array(json_object(
            'id', dependency, 'when', \(words("\"when\"", whenWords)))) FROM edge WHERE operation = o.id
        ) AS dependencies,
        (SELECT json_group_array(json_object(
            'name', name, 'mode', \(words("mode", modeWords)), 'units', units))
            FROM categoryUse WHERE categorySet = o.categories
        ) AS categories,
        json_extract(d.body, '$.labels') AS labels, s.user, s.producer AS producedBy, o.parent AS "group",
        a.progressDone, a.progressTotal, a.status AS statusText, a.result, s.key,
        \(instant("s.at")) AS submittedAt, \(instant("o.readyAt")) AS readyAt,
        \(instant("o.startedAt")) AS startedAt, \(instant("o.finishedAt")) AS finishedAt,
        a.userMicroseconds / 1e6 AS userSeconds, a.systemMicroseconds / 1e6 AS systemSeconds, a.maxResidentBytes,
        d.body AS details
    FROM operation o
    JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
    JOIN queue q ON q.id = o.queue
    LEFT JOIN text c ON c.id = o.command
    LEFT JOIN text d ON d.id = o.details
    LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt;
    """
}

/// Returns the views that show outcomes. `more` is put into the columns of an operation.
func views(outcomes outcomeWords: [String], more: String = "", slot: String = "a.slot") -> String {
    """
    \(operationsView(outcomes: outcomeWords, more: more))

    \(attemptsView(outcomes: outcomeWords, slot: slot))

    \(eventsView(events: firstEventWords, outcomes: outcomeWords))

    CREATE VIEW graphs AS
    SELECT 'g' || s.graph AS graph, s.name, s.user, \(instant("s.at")) AS submittedAt,
        (SELECT sum(count) FROM submission WHERE graph = s.graph) AS operations,
        EXISTS (SELECT 1 FROM suspendedGraph WHERE graph = s.graph) AS suspended
    FROM submission s WHERE s.isNew;
    """
}

/// Returns the view of attempts.
func attemptsView(outcomes outcomeWords: [String], slot: String) -> String {
    """
    CREATE VIEW attempts AS
    SELECT a.operation, a.number AS attempt, a.run, \(slot), a.pid,
        \(words("a.outcome", outcomeWords)) AS outcome, a.cause, a.exitCode, a.signal, a.outOfMemory,
        \(instant("a.startedAt")) AS startedAt, \(instant("a.exitedAt")) AS exitedAt,
        \(instant("a.finishedAt")) AS finishedAt,
        a.userMicroseconds / 1e6 AS userSeconds, a.systemMicroseconds / 1e6 AS systemSeconds, a.maxResidentBytes,
        a.progressDone, a.progressTotal, a.status AS statusText, a.result, r.name AS runner, r.boot
    FROM attempt a JOIN runner r ON r.id = a.runner;
    """
}

/// Returns the view of events.
func eventsView(events eventWords: [String], outcomes outcomeWords: [String]) -> String {
    """
    CREATE VIEW events AS
    SELECT seq, \(instant("at")) AS at, operation AS id, 'g' || graph AS graph,
        \(words("kind", eventWords)) AS type, \(words("old", stateWords)) AS old, \(words("new", stateWords)) AS new,
        \(words("outcome", outcomeWords)) AS outcome, product, detail
    FROM event;
    """
}

private let stateWords = ["pending", "ready", "executing", "finished"]
let firstOutcomeWords = ["succeeded", "failed", "timedOut", "cancelled", "skipped", "interrupted"]
private let whenWords = ["succeeded", "finished", "failed", "started"]
private let modeWords = ["units", "exclusive", "shared"]
let firstEventWords = [
    "submitted", "ready", "started", "progress", "produced", "retrying", "cancelling", "suspended", "resumed",
    "finished",
    "edited", "conditionFalse", "interrupted",
]

private func words(_ column: String, _ words: [String]) -> String {
    let cases = words.enumerated().map { "WHEN \($0) THEN '\($1)'" }
    return "CASE \(column) \(cases.joined(separator: " ")) END"
}

private func instant(_ column: String) -> String {
    // Whole milliseconds, computed as integers: a real second count would round.
    "strftime('%Y-%m-%dT%H:%M:%S', \(column) / 1000000000, 'unixepoch') || printf('.%03dZ', \(column) / 1000000 % 1000)"
}
