/// Bounds of the rules.
extension Limits {
    public static let workers: Int32 = 4096
    /// Maximum number of starts of others that may overtake an operation that waits for categories alone.
    public static let overtakes: UInt8 = 16
    public static let agingSteps: Int16 = 16
    public static let evaluationsAtOnce = 8
    /// Maximum number of operations that an explanation names; of more only the number is given.
    public static let named = 1000
    /// Maximum number of named units of one category.
    public static let units = 10_000
    /// Maximum number of operations that may hold one unit at once.
    public static let share: Int32 = 1000
    /// Capacity of a category that only a rate limits.
    public static let noCapacity = Int32.max
    /// Maximum number of starts that a rate permits within its interval: each of them is remembered.
    public static let rateStarts: Int32 = 100_000
    /// Maximum number of categories with a rate.
    public static let ratedCategories = 1000
    /// Maximum number of staged launches. More are staged when fewer than half of them are left.
    public static let stagedLaunches = 16
    /// Largest pool for which launches are staged: the choice examines every executing operation.
    static let workersWithStaging: Int32 = 64
    /// Maximum number of dependents of an operation whose consequences are predicted.
    static let edgesPredicted = 16
    /// Default window of an executor.
    public static let executorWindow: Int32 = 100
    public static let largestWindow: Int32 = 100_000
    /// Attempts shorter than this make staging worthwhile, and staged launches are revoked after it.
    public static let shortRun = TimeSpan.milliseconds(100)
}
