extension Store {
    /// Makes the store usable again after a failed commit. Committed data is unchanged; `load` returns it.
    ///
    /// The connection stays open: a new one would read the frames of the failed commit from the write-ahead log as if
    /// they were stored, although the kernel may have given up writing them. With this connection the next commit
    /// overwrites them.
    func recover() throws(StoreError) {
        database.rollBack()
        try interned.reload(from: database, boot: boot)
        needsRecovery = false
    }

    /// Makes a small durable write, which throws while the disk cannot be written.
    public func probe() throws(StoreError) {
        try recover()
        // On a full disk the log cannot grow, but after it was moved into the database it starts over. That may fail on
        // a full disk too; only the write below counts.
        try? checkpoint()
        try database.transaction { () throws(StoreError) in
            try database.execute("UPDATE meta SET probes = probes + 1")
        }
    }
}
