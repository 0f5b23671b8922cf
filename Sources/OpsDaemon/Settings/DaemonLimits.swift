/// Everything a client can grow has its bound here; the rules' own bounds are in OpsCore's `Limits`.
enum DaemonLimits {
    /// Read from one connection in one go; a large message takes several. Below the size at which the allocator
    /// gives memory back to the kernel each time it is freed.
    static let readBytes = 64 << 10
    /// Calls of one connection handled before others have their turn.
    static let callsInARow = 64
    /// Output that waits for a reader above which no further call of that connection is taken.
    static let outputBytes = 256 << 10
    /// Calls of one connection that wait for their answers.
    static let unanswered = 512
    /// Nanoseconds in which a message must come whole, answers that wait must be read on, and a submission that has begun
    /// must go on.
    static let idle: Int64 = 30_000_000_000
    /// Largest message that is parsed in the loop, in bytes.
    static let bytesReadInTheLoop = 256 << 10
    /// Largest number of operations of a request that is processed in the loop.
    static let operationsInTheLoop = 2000
    /// Nanoseconds in which the dependencies of one operation are read in the loop; very many are read outside it.
    static let dependenciesInTheLoop: Int64 = 4_000_000
    /// Number of rows in one reply of a stream.
    static let rowsInABatch = 256
    static let eventsInABatch = 256
    static let eventBytesInABatch = 64 << 10
    /// Nanoseconds of a turn in which answers that go on are served, before others have their turn.
    static let streaming: Int64 = 5_000_000
    /// Events of one commit that are kept as messages for those who watch, and bytes of all that are.
    static let eventsKept = 8192
    static let eventBytesKept = 8 << 20
    /// Events a watcher may be behind before it is sent away.
    static let eventsBehind: Int64 = 1_000_000
    /// Longest delay of a commit that no client is waiting for, in nanoseconds.
    static let patience: Int64 = 20_000_000
    /// Nanoseconds in which what the runner tells is gathered for one commit while it has enough staged launches.
    static let gathering: Int64 = 10_000_000
    /// Nanoseconds in which the runner has to report what it began before staged launches were revoked; it says so before it
    /// does.
    static let revocationPatience: Int64 = 250_000_000
    /// Nanoseconds without a word of the runner after which opsd asks it, and then nanoseconds in which it has to answer.
    static let runnerPatience: Int64 = 4_000_000_000
    /// Within which the service manager may expect the database to be open.
    static let openingMicroseconds = 600_000_000
    /// Bytes of the arguments and the environment of a process, each with its terminator and pointer: the most that
    /// execve(2) takes where the stack is unlimited.
    static let launchBytes = 6 << 20
    /// Characters of a command or path that are told in the cause of a false condition.
    static let subjectLength = 400
    static let observersAtOnce = 4
    /// Descriptors that connections never take.
    static let descriptorsKept = 128
    static let observerSeconds: Int64 = 30
    /// Number of past events to search for the event of an observer.
    static let eventsSearched: Int64 = 10_000
    /// Facts kept for later while the disk takes nothing.
    static let keptFacts = 10_000
}
