internal import OpsSystem

/// Bounds of everything that a client can make large. Bounds of the rules are in `Limits` of OpsCore.
enum DaemonLimits {
    /// Bytes that one read of a connection takes; a large message needs several. The number is below the size from
    /// which the allocator returns freed memory to the kernel each time.
    static let readBytes = 64 << 10
    /// Number of calls of one connection that are handled before other connections have their turn.
    static let callsInARow = 64
    /// Bytes of unread output above which no further call of that connection is handled.
    static let outputBytes = 256 << 10
    /// Maximum number of calls of one connection that wait for their answers.
    static let unanswered = 512
    /// Time within which a client must complete a message, continue to read waiting answers, and continue a
    /// submission that it has begun.
    static let idle = TimeSpan.seconds(30)
    /// Largest message that is parsed in the loop, in bytes.
    static let bytesReadInTheLoop = 256 << 10
    /// Largest number of operations of a request that is processed in the loop.
    static let operationsInTheLoop = 2000
    /// Time for which the dependencies of one operation are read in the loop; very many are read outside it.
    static let dependenciesInTheLoop = TimeSpan.milliseconds(4)
    /// Time of a turn in which observed graphs and runs of schedules are counted, and in which observers are started.
    /// The last one may take longer.
    static let observing = TimeSpan.milliseconds(4)
    /// Number of rows in one reply of a stream.
    static let rowsInABatch = 256
    /// Maximum number of events in one reply of a stream.
    static let eventsInABatch = 256
    /// Maximum number of bytes of kept events in one reply of a stream, unless the first event is larger.
    static let eventBytesInABatch = 64 << 10
    /// Time of a turn in which streams are served before other work has its turn.
    static let streaming = TimeSpan.milliseconds(5)
    /// Maximum number of events of a commit that are kept as messages for watchers.
    static let largestKeptCommit = 8192
    /// Bytes of all events that are kept as messages for watchers.
    static let eventBytesKept = 8 << 20
    /// Number of events that a watcher may be behind before its stream ends.
    static let eventsBehind: Int64 = 1_000_000
    /// Longest delay of a commit that no client is waiting for.
    static let patience = TimeSpan.milliseconds(20)
    /// Time for which reports of the runner are gathered for one commit while it has enough staged launches.
    static let gathering = TimeSpan.milliseconds(10)
    /// Time within which the runner has to report launches that it started before they were revoked. It sends
    /// the report before it starts them.
    static let revocationPatience = TimeSpan.milliseconds(250)
    /// Time without a report after which opsd pings the runner, and time within which the runner then has to answer.
    static let runnerPatience = TimeSpan.seconds(4)
    /// Microseconds within which the service manager can expect the database to be open.
    static let openingMicroseconds = 600_000_000
    /// Bytes of the arguments and the environment of a process, each with its terminator and pointer: the most that
    /// execve(2) takes where the stack is unlimited.
    static let launchBytes = 6 << 20
    /// Number of characters of a command or path in the cause of a false condition.
    static let subjectLength = 400
    /// Maximum number of observers that run at once.
    static let observersAtOnce = 4
    /// Number of descriptors that connections never use.
    static let descriptorsKept = 128
    /// Time within which an observer must end.
    static let longestObserver = TimeSpan.seconds(30)
    /// Number of past events to search for the event of an observer.
    static let eventsSearched: Int64 = 10_000
    /// Maximum number of facts that are kept during an outage, and number of facts of a long turn from which updates of
    /// progress are dropped.
    static let keptFacts = 10_000
}
