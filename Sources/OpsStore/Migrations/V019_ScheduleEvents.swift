/// The words for events of schedules in the view of events.
let v019 = Migration(
    version: 19,
    sql: "DROP VIEW events;\n"
        + eventsView(
            events: firstEventWords + ["fired", "skipped", "missed", "refused"],
            outcomes: firstOutcomeWords + ["skipped"]))
