// Messages are made of the values that all targets share.
@_exported public import OpsModel

/// Bounds of messages.
extension Limits {
    /// Bytes of one message without its NUL.
    public static let frameBytes = 64 << 20
    /// Objects and arrays inside each other.
    public static let depth = 64
    /// Problems of one submission that are told; what follows is not looked for.
    public static let problems = 100
    /// Bytes of all names, of all commands, and so on, of one submission: each fits 32-bit places.
    static let tableBytes = 1 << 30
    /// Bytes of a text beside an operation: a note, a reason, a message, a change for `why --what-if`.
    public static let textBytes = 4096
    /// References in one selection.
    public static let references = 32_768
    /// Rows of one List without `more`.
    public static let rows = 1000
}
