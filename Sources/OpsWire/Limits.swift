// Messages consist of the values that all targets share.
@_exported public import OpsModel

/// Limits of messages.
extension Limits {
    /// Bytes of one message without its NUL.
    public static let frameBytes = 64 << 20
    /// Depth of nested objects and arrays. A group takes two levels, and a provided operation three. The rest is for
    /// the call, and for the values of the innermost operation.
    public static let depth = 2 * groupDepth + 3 * providedDepth + 16
    /// Problems that are reported for one submission; after that number the search ends.
    public static let problems = 100
    /// Bytes of all names, of all commands, and so on, of one submission, so that indices fit 32 bits.
    static let tableBytes = 1 << 30
    /// Bytes of a text for an operation: a note, a reason, a message, a change for `why --what-if`.
    public static let textBytes = 4096
    /// References in one selection.
    public static let references = 32_768
    /// Elements of an array or a map in a request, and values in the `changes` of a Set: those of a command with the
    /// most arguments, and of other keys. In memory, short values take up to thirty times the bytes of their text.
    static let values = arguments + 1024
    /// Bytes of the `changes` of a Set: a command in which each byte is an escape of six, and all other keys.
    static let changesBytes = 6 * commandBytes + (64 << 10)
    /// Rows of one List without `more`.
    public static let rows = 1000
}
