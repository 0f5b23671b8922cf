/// Changes of schedules outside of turns of the scheduler. Each is one transaction.
extension Store {
    /// Stores a new schedule and returns its id; nil if its user has a schedule with this name.
    /// - Parameter last: The new id is higher than this one, and than all ids that are stored.
    public func add(_ schedule: StoredSchedule, after last: Int64 = 0) throws(StoreError) -> Int64? {
        var id: Int64?
        try change { () throws(StoreError) in
            let row = try kept(
                """
                INSERT INTO schedule (id, uid, user, gid, name, definition, addedAt, accounted, runs, isPaused, boot)
                VALUES (1 + max(
                    ?9, ifnull((SELECT max(id) FROM schedule), 0),
                    ifnull((SELECT max(schedule) FROM scheduleInstant), 0),
                    ifnull((SELECT max(schedule) FROM triggerKey), 0)
                ), ?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8) ON CONFLICT DO NOTHING RETURNING id
                """)
            row.bind(1, schedule.uid)
            row.bind(2, schedule.user)
            row.bind(3, schedule.gid)
            row.bind(4, schedule.name)
            row.bind(5, schedule.definition)
            row.bind(6, schedule.addedAt)
            row.bind(7, schedule.position.accounted)
            row.bind(8, schedule.position.boot)
            row.bind(9, last)
            while try row.step() { id = row.int(0) }
        }
        return id
    }

    /// Stores a changed definition of a schedule, and its position.
    public func update(_ schedule: StoredSchedule) throws(StoreError) {
        try change { () throws(StoreError) in
            let row = try kept("UPDATE schedule SET definition = ?2 WHERE id = ?1")
            row.bind(1, schedule.id)
            row.bind(2, schedule.definition)
            try row.run()
            try put(schedule.id, schedule.position)
        }
    }

    /// Removes a schedule and the records of its instants; its runs stay.
    public func removeSchedule(_ id: Int64) throws(StoreError) {
        try change { () throws(StoreError) in
            for sql in [
                "DELETE FROM scheduleInstant WHERE schedule = ?1", "DELETE FROM triggerKey WHERE schedule = ?1",
                "DELETE FROM schedule WHERE id = ?1",
            ] {
                let row = try kept(sql)
                row.bind(1, id)
                try row.run()
            }
        }
    }

    /// Stores the position of a schedule that is paused or resumed, or after a change of the clock.
    public func move(_ schedule: Int64, to position: StoredSchedule.Position) throws(StoreError) {
        try change { () throws(StoreError) in try put(schedule, position) }
    }

    /// Removes the records of instants after this one that did not run, and shortens the one that contains it.
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

    /// Stores the outcomes of runs that have finished.
    public func storeOutcomes(of runs: [ScheduleInstant]) throws(StoreError) {
        if runs.isEmpty { return }
        try change { () throws(StoreError) in
            let row = try kept(
                """
                UPDATE scheduleInstant SET outcome = ?5
                WHERE schedule = ?1 AND nominal = ?2 AND origin = ?3 AND number = ?4
                """)
            for run in runs {
                row.bind(1, run.schedule)
                row.bind(2, run.nominal)
                row.bind(3, run.origin.rawValue)
                row.bind(4, run.number)
                row.bind(5, run.outcome?.stored)
                try row.run()
            }
        }
    }

    /// Removes the oldest records of a schedule beyond a number. Those of unfinished runs stay.
    public func removeRecords(of schedule: Int64, beyond count: Int) throws(StoreError) {
        try change { () throws(StoreError) in
            let row = try kept(
                """
                DELETE FROM scheduleInstant
                WHERE schedule = ?1 AND (graph IS NULL OR outcome IS NOT NULL) AND nominal <= (
                    SELECT nominal FROM scheduleInstant WHERE schedule = ?1 ORDER BY nominal DESC LIMIT 1 OFFSET ?2)
                RETURNING through, origin IN (0, 2)
                """)
            row.bind(1, schedule)
            row.bind(2, count)
            var last: Int64?
            while try row.step() { if row.bool(1) { last = max(last ?? .min, row.int(0)) } }
            guard let last else { return }
            let position = try kept(
                "UPDATE schedule SET removedThrough = max(ifnull(removedThrough, ?2), ?2) WHERE id = ?1")
            position.bind(1, schedule)
            position.bind(2, last)
            try position.run()
        }
    }

    func change(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        endReading()
        if needsRecovery { try recover() }
        try database.transaction(body)
        checkpointWhenLarge()
    }

    /// Stores a record inside a transaction.
    func put(_ write: ScheduleWrite) throws(StoreError) {
        if let replaced = write.replaced {
            let row = try kept(
                "DELETE FROM scheduleInstant WHERE schedule = ?1 AND nominal = ?2 AND origin = ?3 AND number = ?4")
            row.bind(1, replaced.schedule)
            row.bind(2, replaced.nominal)
            row.bind(3, replaced.origin.rawValue)
            row.bind(4, replaced.number)
            try row.run()
        }
        for instant in write.rest { try put(instant) }
        try put(write.instant)
        try put(write.instant.schedule, write.position)
        for key in write.keys {
            let row = try kept("INSERT OR REPLACE INTO triggerKey VALUES (?1, ?2, ?3, ?4)")
            row.bind(1, write.instant.schedule)
            row.bind(2, key.key)
            row.bind(3, key.identity)
            row.bind(4, write.instant.at)
            try row.run()
        }
    }

    /// Removes a key, so that it can trigger a run again. Returns false if it is not stored.
    public func forget(_ key: String, of schedule: Int64) throws(StoreError) -> Bool {
        var isThere = false
        try change { () throws(StoreError) in
            let row = try kept("DELETE FROM triggerKey WHERE schedule = ?1 AND key = ?2 RETURNING 1")
            row.bind(1, schedule)
            row.bind(2, key)
            while try row.step() { isThere = true }
        }
        return isThere
    }

    /// Removes keys of files that are gone.
    public func forget(_ keys: [String], of schedule: Int64) throws(StoreError) {
        try change { () throws(StoreError) in
            for key in keys {
                let row = try kept("DELETE FROM triggerKey WHERE schedule = ?1 AND key = ?2")
                row.bind(1, schedule)
                row.bind(2, key)
                try row.run()
            }
        }
    }

    private func put(_ instant: ScheduleInstant) throws(StoreError) {
        let row = try kept(
            "INSERT OR REPLACE INTO scheduleInstant VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")
        row.bind(1, instant.schedule)
        row.bind(2, instant.nominal)
        row.bind(3, instant.origin.rawValue)
        row.bind(4, instant.number)
        row.bind(5, instant.through)
        row.bind(6, instant.count)
        row.bind(7, instant.result.rawValue)
        row.bind(8, instant.graph)
        row.bind(9, instant.at)
        row.bind(10, instant.note)
        row.bind(11, instant.key)
        row.bind(12, instant.outcome?.stored)
        try row.run()
    }

    private func put(_ schedule: Int64, _ position: StoredSchedule.Position) throws(StoreError) {
        let row = try kept(
            "UPDATE schedule SET accounted = ?2, runs = ?3, isPaused = ?4, pausedThrough = ?5, boot = ?6 WHERE id = ?1")
        row.bind(1, schedule)
        row.bind(2, position.accounted)
        row.bind(3, position.runs)
        row.bind(4, position.isPaused)
        row.bind(5, position.pausedThrough)
        row.bind(6, position.boot)
        try row.run()
    }
}
