/// Changes of schedules that belong to no turn of the scheduler. Each is one transaction.
extension Store {
    /// Stores a new schedule and returns its number, or nil if its user has one of this name.
    public func add(_ schedule: StoredSchedule) throws(StoreError) -> Int64? {
        var id: Int64?
        try change { () throws(StoreError) in
            let row = try kept(
                """
                INSERT INTO schedule (uid, user, gid, name, definition, addedAt, accounted, runs, isPaused)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0) ON CONFLICT DO NOTHING RETURNING id
                """)
            row.bind(1, schedule.uid)
            row.bind(2, schedule.user)
            row.bind(3, schedule.gid)
            row.bind(4, schedule.name)
            row.bind(5, schedule.definition)
            row.bind(6, schedule.addedAt)
            row.bind(7, schedule.position.accounted)
            while try row.step() { id = row.int(0) }
        }
        return id
    }

    /// Removes a schedule and the records of its instants; its runs stay.
    public func removeSchedule(_ id: Int64) throws(StoreError) {
        try change { () throws(StoreError) in
            for sql in ["DELETE FROM scheduleInstant WHERE schedule = ?1", "DELETE FROM schedule WHERE id = ?1"] {
                let row = try kept(sql)
                row.bind(1, id)
                try row.run()
            }
        }
    }

    /// Stores records of instants that do not run.
    public func record(_ writes: [ScheduleWrite]) throws(StoreError) {
        if writes.isEmpty { return }
        try change { () throws(StoreError) in
            for write in writes { try put(write) }
        }
    }

    /// Stores the position of a schedule: where it is paused, resumed, or the clock was changed.
    public func move(_ schedule: Int64, to position: StoredSchedule.Position) throws(StoreError) {
        try change { () throws(StoreError) in try put(schedule, position) }
    }

    /// Removes the records behind an instant that did not run, and shortens the one around it.
    public func removeRecords(
        of schedule: Int64, after nominal: Int64, shortened: [ScheduleInstant], _ position: StoredSchedule.Position
    ) throws(StoreError) {
        try change { () throws(StoreError) in
            let row = try kept(
                "DELETE FROM scheduleInstant WHERE schedule = ?1 AND through > ?2 AND result <> 0 AND origin = 0")
            row.bind(1, schedule)
            row.bind(2, nominal)
            try row.run()
            for instant in shortened { try put(instant) }
            try put(schedule, position)
        }
    }

    private func change(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        endReading()
        if needsRecovery { try recover() }
        try database.transaction(body)
        checkpointWhenLarge()
    }

    /// Stores a record inside of a transaction.
    func put(_ write: ScheduleWrite) throws(StoreError) {
        try put(write.instant)
        try put(write.instant.schedule, write.position)
    }

    private func put(_ instant: ScheduleInstant) throws(StoreError) {
        let row = try kept("INSERT OR REPLACE INTO scheduleInstant VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        row.bind(1, instant.schedule)
        row.bind(2, instant.nominal)
        row.bind(3, instant.origin.rawValue)
        row.bind(4, instant.through)
        row.bind(5, instant.count)
        row.bind(6, instant.result.rawValue)
        row.bind(7, instant.graph)
        row.bind(8, instant.at)
        row.bind(9, instant.note)
        try row.run()
    }

    private func put(_ schedule: Int64, _ position: StoredSchedule.Position) throws(StoreError) {
        let row = try kept(
            "UPDATE schedule SET accounted = ?2, runs = ?3, isPaused = ?4, pausedThrough = ?5 WHERE id = ?1")
        row.bind(1, schedule)
        row.bind(2, position.accounted)
        row.bind(3, position.runs)
        row.bind(4, position.isPaused)
        row.bind(5, position.pausedThrough)
        try row.run()
    }
}
