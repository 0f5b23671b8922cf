/// `operation.frozen` is the sum of the levels that have frozen an operation. In the view it stays 0 or 1. An operation that
/// is frozen at the migration keeps 1: its levels are unknown.
let v025 = Migration(
    version: 25,
    sql: "DROP VIEW operations;\n"
        + operationsView(
            outcomes: firstOutcomeWords + ["skipped"], more: " o.outcome = 6 AS notNeeded,",
            frozen: "o.frozen <> 0 AS frozen"))
