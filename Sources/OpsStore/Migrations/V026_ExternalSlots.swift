/// An attempt on an executor takes no slot. It is stored as the smallest number, which the view shows as null.
let v026 = Migration(
    version: 26,
    sql: "DROP VIEW attempts;\n"
        + attemptsView(
            outcomes: firstOutcomeWords + ["skipped"],
            slot: "iif(a.slot = -2147483648, NULL, iif(a.slot < 0, -1 - a.slot, a.slot)) AS slot"))
