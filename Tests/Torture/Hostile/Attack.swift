/// Attacks, which are drawn at random.
enum Attack: String, CaseIterable, Sendable {
    /// A lease on the program, the standard input or the output of an operation, which its start has to break.
    case lease
    /// SIGSTOP to every process of the attackers below the runner as soon as it exists, and to their operations.
    case stop
    /// FIFOs without a process at the other end, as standard input, output and directory.
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
    /// Incomplete messages of several megabytes.
    case halves
    /// Submissions in parts that are never committed.
    case parts
    /// Large replies that the client does not read.
    case unread
    /// Messages to the sockets of other users' operations, in their name.
    case forge
    /// Signals to processes of other users, and to the programs of opsd.
    case signals
    /// Attempts to read and change the data of other users.
    case meddle
    /// Many ranges and labels in one selection, and many such requests at once.
    case labels
    /// Arguments and environments of the largest allowed size.
    case large
    /// Thousands of results of 4 KiB, and an operation that receives all of them.
    case results
    /// Barriers that never start, in the queues that all users share.
    case barrier
    /// An operation whose end decides thousands of others.
    case fan
    /// Conditions and observers that do not end.
    case conditions

    /// True if processes of operations make the attack, which need slots.
    var executes: Bool {
        switch self {
        case .lease, .stop, .fifo, .path, .truncate, .flood, .forks, .leave, .large, .results, .fan, .conditions: true
        case .connections, .halves, .parts, .unread, .forge, .signals, .meddle, .labels, .barrier: false
        }
    }
}
