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
    /// Rows of one List without `more`.
    public static let rows = 1000
}
