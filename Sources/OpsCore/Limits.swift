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
    /// Evaluations of one ordinary user: two users, however slow their conditions are, do not wait for each other.
    public static let evaluationsPerUser = evaluationsAtOnce / 2
    /// Operations named where it is told who waits, who is waited for, who holds; of more their number is told.
    public static let named = 1000
    /// Operations in the runner's hand; with fewer than half of them it is filled up.
    public static let stagedLaunches = 16
    /// Of a larger pool it is not worth looking at all that executes.
    static let workersWithStaging: Int32 = 64
    /// What waits for one operation, where it is looked at for the sake of the hand.
    static let edgesPredicted = 16
    /// Nanoseconds: what ends sooner makes a hand worth its while, and one that has rested longer is taken back.
    public static let shortRun: Int64 = 100_000_000
    /// A hundred years in nanoseconds: what is added to an instant never leaves 64 bits.
    public static let duration: Int64 = 3_155_760_000_000_000_000
}
