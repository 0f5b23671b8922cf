/// Attacks, drawn at random.
enum Attack: String, CaseIterable, Sendable {
    /// A lease on the program, the standard input or the output of an operation, which its start has to break.
    case lease
    /// SIGSTOP to every process of their own below the runner as soon as it is there, and to their operations.
    case stop
    /// FIFOs that nobody opens at the other end, as standard input, output and directory.
    case fifo
    /// A PATH of a megabyte of empty directories, and a program that is in none of them.
    case path
    /// Logs of the largest size that the file system allows.
    case truncate
    /// Messages of 4 KiB to the runner in a loop.
    case flood
    case forks
    /// Processes that write to their log after the end of their operation.
    case leave
    case connections
    /// Half messages of megabytes.
    case halves
    /// Submissions in parts that are never committed.
    case parts
    /// Large replies that nobody reads.
    case unread
    /// Messages to the sockets of other users' operations, in their name.
    case forge
    /// Signals to processes of other users, and to the programs of opsd.
    case signals
    /// Reading and changing what is other users'.
    case meddle
    /// Many ranges and labels in one selection, many such questions at once.
    case labels
    /// Arguments and environments as large as they may be.
    case large
    /// Thousands of results of 4 KiB, and an operation that is given all of them.
    case results
    /// Barriers that never start, in the queues that everybody uses.
    case barrier
    /// One end that decides thousands of operations.
    case fan
    /// Conditions and observers that do not end.
    case conditions

    /// It is done by processes of operations, which need slots.
    var executes: Bool {
        switch self {
        case .lease, .stop, .fifo, .path, .truncate, .flood, .forks, .leave, .large, .results, .fan, .conditions: true
        case .connections, .halves, .parts, .unread, .forge, .signals, .meddle, .labels, .barrier: false
        }
    }
}
