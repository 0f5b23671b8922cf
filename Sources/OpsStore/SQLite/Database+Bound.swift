internal import CSQLite

/// A bound on what a statement may take. SQLite knows no clock that it would look at by itself: it asks every few
/// microseconds of its work, and a caller that steps through many small statements is asked with the rows.
extension Database {
    /// Ends what `body` reads, with an error of kind `interrupted`, once `isOver` says so.
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
                // The handler is taken away before the connection goes.
                guard let this = unsafe this else { return 0 }
                return unsafe Unmanaged<Database>.fromOpaque(this).takeUnretainedValue().isOver?() == true ? 1 : 0
            }, this)
    }

    /// Instructions of SQLite's virtual machine: less than a tenth of a millisecond.
    private static let instructionsBetweenLooks: Int32 = 2000
    private static let rowsBetweenLooks = 64

    /// Counts a row, or the end of a small statement, which SQLite may not have asked about.
    func countRow() throws(StoreError) {
        guard let isOver else { return }
        rows &+= 1
        if rows % Self.rowsBetweenLooks == 0, isOver() {
            throw StoreError(.interrupted, "reading took too long", file: path)
        }
    }
}

extension History {
    /// Ends what `body` reads, with an error of kind `interrupted`, once `isOver` says so.
    public func reading<Result>(
        until isOver: @escaping () -> Bool, _ body: () throws -> Result
    ) rethrows -> Result {
        try database.interrupting(when: isOver, body)
    }
}

extension Store {
    /// Ends what `body` reads, with an error of kind `interrupted`, once `isOver` says so.
    public func reading<Result>(
        until isOver: @escaping () -> Bool, _ body: () throws -> Result
    ) rethrows -> Result {
        try database.interrupting(when: isOver, body)
    }
}
