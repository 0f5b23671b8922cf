internal import OpsCore

/// What is foretold, and what becomes of it.
extension Store {
    func foretell(_ attempt: AttemptID, _ runner: String) throws(StoreError) {
        try update(statements.hand.insert, attempt.operation, Int64(attempt.number), try row(ofRunner: runner))
    }

    /// It has not happened, whether or not it was presumed to.
    func withdraw(_ attempt: AttemptID) throws(StoreError) {
        try update(statements.hand.delete, attempt.operation)
        try update(statements.hand.withdrawAttempt, attempt.operation, Int64(attempt.number))
        try update(statements.hand.withdrawOperation, attempt.operation, Int64(attempt.number))
    }

    /// It stays foretold: whoever loads it is to know how much of it is certain.
    func presume(_ attempt: AttemptID, _ run: Int32, _ slot: Int32, _ at: Moment) throws(StoreError) {
        try update(statements.hand.presumeOperation, attempt.operation, Int64(attempt.number), Int64(run))
        try update(statements.hand.presumeAttempt, attempt.operation, Int64(run), Int64(slot), at.monotonic, at.wall)
    }

    func place(_ attempt: AttemptID, _ begun: Place) throws(StoreError) {
        try update(statements.hand.delete, attempt.operation)
        try update(
            statements.hand.placeAttempt, attempt.operation, Int64(attempt.number), Int64(begun.slot),
            begun.at.monotonic, begun.at.wall)
        try update(statements.hand.placeOperation, attempt.operation, begun.at.wall)
    }
}
