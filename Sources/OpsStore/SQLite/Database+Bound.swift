internal import CSQLite

/// A bound on the time of reads. SQLite does not read the clock itself: it calls a handler every few microseconds of
/// work. For many small statements the rows are counted too.
extension Database {
    /// Interrupts the reads of `body` with an error of kind `interrupted` when `isOver` returns true.
    func interrupting<Result>(
        when isOver: @escaping () -> Bool, _ body: () throws -> Result
    ) rethrows -> Result {
        let outer = self.isOver
        self.isOver = isOver
        watchProgress()
        defer {
            self.isOver = outer
            watchProgress()
        }
        return try body()
    }

    private func watchProgress() {
        guard isOver != nil else { return unsafe sqlite3_progress_handler(handle, 0, nil, nil) }
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe sqlite3_progress_handler(
            handle, Self.instructionsBetweenLooks,
            { this in
                // The handler is removed before the connection is closed.
                guard let this = unsafe this else { return 0 }
                return unsafe Unmanaged<Database>.fromOpaque(this).takeUnretainedValue().isOver?() == true ? 1 : 0
            }, this)
    }

    /// Instructions of SQLite's virtual machine: less than a tenth of a millisecond.
    private static let instructionsBetweenLooks: Int32 = 2000
    private static let rowsBetweenLooks = 64

    /// Counts a row, or the end of a small statement, for which SQLite may not have called the handler.
    func countRow() throws(StoreError) {
        guard let isOver else { return }
        rows &+= 1
        if rows % Self.rowsBetweenLooks == 0, isOver() {
            throw StoreError(.interrupted, "reading took too long", file: path)
        }
    }
}

extension History {
    /// Interrupts the reads of `body` with an error of kind `interrupted` when `isOver` returns true.
    public func reading<Result>(
        until isOver: @escaping () -> Bool, _ body: () throws -> Result
    ) rethrows -> Result {
        try database.interrupting(when: isOver, body)
    }
}

extension Store {
    /// Interrupts the reads of `body` with an error of kind `interrupted` when `isOver` returns true.
    public func reading<Result>(
        until isOver: @escaping () -> Bool, _ body: () throws -> Result
    ) rethrows -> Result {
        try database.interrupting(when: isOver, body)
    }
}
