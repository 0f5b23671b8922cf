internal import OpsCore

/// The memory of the daemon: one SQLite database in the state directory.
///
/// It belongs to the thread that opened it and is deliberately not `Sendable`. Its promises:
/// 1. `commit` is one transaction, on the disk when it returns; when it throws, nothing of it has happened.
/// 2. `load` and every other read return committed data only.
/// 3. A file that is damaged, foreign or from a later version is refused, and not a byte of it is changed.
public final class Store {
    let database: Database
    let statements: CommitStatements
    /// The boot id of this machine, stored with the runner of every attempt.
    let boot: String
    var interned: Interned
    /// Writes to attempts and operations that the turn being stored has gathered.
    var attemptWrites = AttemptWrites()
    /// Graphs whose observers were stored or reopened since the daemon last asked.
    var observedGraphs: [GraphID] = []
    /// True if a commit has failed since `recover`.
    var needsRecovery = false
    /// Number of operations that had finished when `load` last read the unfinished ones.
    public internal(set) var finishedWhenLoaded = 0
    let log: LogSize
    /// True while another connection moves the log into the database (`moveLog`), so that this one does not.
    public var isLogBeingMoved = false
    /// True if operations were pruned, and no search for unused texts has begun since.
    var mayHaveUnusedTexts = false
    /// True if rows were pruned, and their pages were not returned to the file system since.
    var mayHaveFreePages = false
    /// Durations of commits and turns since the counters were last stored.
    public var commitTimes = Histogram.ofTurns
    public var turnTimes = Histogram.ofTurns
    /// Random name of this database, the same for its whole life.
    public let instance: String
    private var keptStatements: [String: Statement] = [:]
    private let lock: StateLock

    /// The database's path.
    public var path: String { database.path }

    /// The database's name in the state directory.
    public static let fileName = "opsd.db"

    init(_ database: Database, boot: String, lock: consuming StateLock) throws(StoreError) {
        self.database = database
        self.boot = boot
        self.lock = lock
        statements = try CommitStatements(database)
        log = LogSize(of: database)
        interned = Interned()
        let name = try database.prepare("SELECT instance FROM meta")
        instance = try name.step() ? name.text(0) : ""
        name.reset()
        try interned.reload(from: database, boot: boot)
    }

    /// Returns the statement for a text, prepared at its first use: for statements that are not always needed.
    func kept(_ sql: String) throws(StoreError) -> Statement {
        if let known = keptStatements[sql] { return known }
        let made = try database.prepare(sql)
        keptStatements[sql] = made
        return made
    }
}
