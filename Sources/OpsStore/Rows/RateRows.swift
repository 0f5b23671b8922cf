internal import OpsCore

/// Starts of categories with a rate as rows.
extension Store {
    /// Stores a start, and removes those that no longer count.
    func storeStart(of category: String, at instant: MonotonicInstant, expired: MonotonicInstant) throws(StoreError) {
        let insert = statements.setting.addRatedStart
        insert.bind(1, category)
        insert.bind(2, boot)
        insert.bind(3, instant)
        try insert.run()
        let expire = statements.setting.expireRatedStarts
        expire.bind(1, category)
        expire.bind(2, boot)
        expire.bind(3, expired)
        try expire.run()
    }

    func forgetStarts(of category: String) throws(StoreError) {
        statements.setting.forgetRatedStarts.bind(1, category)
        try statements.setting.forgetRatedStarts.run()
    }

    /// Reads the starts that count. Those of an earlier boot have an unknown age: they count as made at boot.
    func loadRatedStarts(_ snapshot: inout Snapshot) throws(StoreError) {
        let rows = try database.prepare(
            """
            SELECT category, iif(boot = ?1, at, 0) AS instant, count FROM rateStart ORDER BY category, instant
            """)
        rows.bind(1, boot)
        while try rows.step() {
            let starts = [MonotonicInstant](repeating: rows.time(1), count: Int(rows.int(2)))
            snapshot.rateStarts[rows.text(0), default: []] += starts
        }
    }
}
