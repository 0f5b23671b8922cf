/// Limits of everything that a user can grow, each defined once. Limits of a single target are in its extension.
public enum Limits {
    public static let operationsPerSubmission = 4_000_000
    public static let edgesPerSubmission = 16_000_000
    /// Maximum number of edges of the unfinished operations of one ordinary user.
    public static let edgesPerUser = 16_000_000
    /// Maximum number of categories in the different category sets of the unfinished operations of one ordinary user.
    public static let categoriesPerUser = 100_000
    public static let groupDepth = 32
    /// Depth of operations that conditions provide for one another. Each level takes much of the stack of the reader.
    public static let providedDepth = 4
    public static let categoriesPerOperation = 32
    public static let conditionsPerOperation = 16
    /// Maximum number of secrets of one operation.
    public static let secrets = 16
    /// Patterns of inputs, or of outputs, of one condition.
    public static let patterns = 64
    /// A hundred years: longer durations are mistakes, and a sum of two still fits 64 bits.
    public static let duration = TimeSpan.days(36_525)
    public static let nameBytes = 200
    /// Bytes of one command with its terminators: the most that execve(2) accepts with the usual limit of the stack.
    public static let commandBytes = 2 << 20
    /// Number of arguments that fit, because each needs a pointer.
    public static let arguments = commandBytes / 8
    /// Bytes of all `NAME=VALUE` of one operation or capture.
    public static let environmentBytes = 1 << 20
    public static let environmentVariables = 4096
    /// Equals PATH_MAX.
    public static let pathBytes = 4095
    public static let labels = 64
    public static let labelBytes = 1024
    public static let keyBytes = 255
    public static let userBytes = 256
    public static let exitCodes = 256
    public static let retries: Int64 = 1_000_000
    /// Growth of a value from one attempt to the next.
    public static let scaleFactor = 1.0...1000.0
    public static let priority: ClosedRange<Int64> = -100...100
    /// Highest priority for operations of ordinary users. With a higher one, a user could starve the others.
    public static let ordinaryPriority = 4
    /// Default time between SIGTERM and SIGKILL.
    public static let usualGrace = TimeSpan.seconds(10)
    public static let nice: ClosedRange<Int64> = -20...19
    /// Longest time for the evaluation of all conditions of an operation, because others wait for their turn.
    public static let evaluation = TimeSpan.seconds(600)
    /// Shortest time after which a false condition is evaluated again, because each answer is an event on disk.
    public static let evaluationPause = TimeSpan.seconds(1)
    /// Bytes of the graph of a schedule, which is read at each of its instants.
    public static let scheduleBytes = 256 << 10
}
