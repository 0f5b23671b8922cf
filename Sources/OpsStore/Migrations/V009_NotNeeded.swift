/// A number for the outcome of operations that were not needed. To readers of the views it is `skipped`, with a column
/// that tells them apart. A slot that was freed before the end of its attempt is stored as a negative number.
let v009 = Migration(
    version: 9,
    sql: """
        DROP VIEW operations;
        DROP VIEW attempts;
        DROP VIEW events;
        DROP VIEW graphs;
        """
            + views(
                outcomes: firstOutcomeWords + ["skipped"], more: " o.outcome = 6 AS notNeeded,",
                slot: "iif(a.slot < 0, -1 - a.slot, a.slot) AS slot"))
