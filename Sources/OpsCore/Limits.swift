/// Everything a user can grow has its bound here.
public enum Limits {
    public static let operationsPerSubmission = 4_000_000
    public static let edgesPerSubmission = 16_000_000
    public static let groupDepth = 32
    public static let categoriesPerOperation = 32
    public static let conditionsPerOperation = 16
    public static let workers: Int32 = 4096
    /// Starts of others that may pass an operation which only categories keep back.
    public static let overtakes: UInt8 = 16
    public static let agingSteps: Int16 = 16
    public static let evaluationsAtOnce = 8
    /// A hundred years in nanoseconds: what is added to an instant never leaves 64 bits.
    public static let duration: Int64 = 3_155_760_000_000_000_000
}
