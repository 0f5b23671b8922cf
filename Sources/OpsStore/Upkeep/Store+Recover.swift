extension Store {
    /// Makes the store usable again after a failed commit. What was committed is unchanged; `load` tells it.
    ///
    /// The connection stays: opening the file again would read the failed commit's frames back from the write-ahead
    /// log as if they had been stored, although the kernel may have given up writing them. Kept, the next commit
    /// writes over them.
    func recover() throws(StoreError) {
        database.rollBack()
        try interned.reload(from: database, boot: boot)
        needsRecovery = false
    }

    /// A small durable write: returns when the disk takes writes again.
    public func probe() throws(StoreError) {
        try recover()
        // On a full disk the log cannot grow, but once moved into the database it starts over from its beginning.
        // That may fail for want of room as well; the write below is what counts.
        try? checkpoint()
        try database.transaction { () throws(StoreError) in
            try database.execute("UPDATE meta SET probes = probes + 1")
        }
    }
}
