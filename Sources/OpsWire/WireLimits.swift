/// Everything that a message can grow has its bound here.
public enum WireLimits {
    /// Bytes of one message without its NUL.
    public static let frameBytes = 64 << 20
    /// Objects and arrays inside each other.
    public static let depth = 64
    /// Problems of one submission that are told; what follows is not looked for.
    public static let problems = 100
    public static let nameBytes = 200
    public static let operations = 4_000_000
    public static let edges = 16_000_000
    public static let groupDepth = 32
    /// Bytes of all names, of all commands, and so on, of one submission: each fits 32-bit places.
    static let tableBytes = 1 << 30
    public static let categoriesPerOperation = 32
    public static let conditionsPerOperation = 16
    /// One command, its terminators counted: all that execve(2) takes, unless the stack may be larger than usual.
    static let commandBytes = 2 << 20
    /// As many words as fit, each with its pointer.
    static let arguments = commandBytes / 8
    /// All `NAME=VALUE` of one operation or capture.
    public static let environmentBytes = 1 << 20
    public static let environmentVariables = 4096
    /// As PATH_MAX.
    public static let pathBytes = 4095
    public static let labels = 64
    static let labelBytes = 1024
    public static let keyBytes = 255
    static let exitCodes = 256
    /// Bytes of a text beside an operation: a note, a reason, a message, a change for `why --what-if`.
    public static let textBytes = 4096
    /// References in one selection.
    public static let references = 32_768
    /// Rows of one List without `more`.
    public static let rows = 1000
    /// A hundred years in nanoseconds: longer durations are mistakes, and sums of two still fit 64 bits.
    public static let duration: Int64 = 3_155_760_000_000_000_000
}
