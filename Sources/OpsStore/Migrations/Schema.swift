internal import Glibc

/// Migrates a database to the newest schema, or reports why it cannot be used.
enum Schema {
    static func bringUpToDate(
        _ database: Database, by migrations: [Migration] = Migration.all
    ) throws(StoreError) {
        let newest = migrations.last?.version ?? 0
        let version = try database.integer("PRAGMA user_version")
        let application = try database.integer("PRAGMA application_id")
        // The first migration is one transaction: even a crash leaves no objects without the id of opsd.
        if try !database.isEmpty() { try refuse(version: version, application: application, database.path) }
        if version == newest { return }
        if version > 0 { try keepCopy(of: database, version: version) }
        try database.transaction { () throws(StoreError) in
            for migration in migrations where migration.version > version { try database.execute(migration.sql) }
            try database.execute("PRAGMA application_id = \(Migration.applicationID)")
            try database.execute("PRAGMA user_version = \(newest)")
        }
    }

    /// Throws if something that the migrations create is missing; additions do not matter.
    static func expectComplete(_ database: Database) throws(StoreError) {
        if let missing = expected.subtracting(try objects(of: database)).min() {
            throw StoreError(.corrupt, "the \(missing) is missing", file: database.path)
        }
    }

    /// Names of everything that the migrations create. Running the migrations at every start would take as long as the
    /// rest of the start.
    private static let made: KeyValuePairs<String, [String]> = [
        "table": [
            "assignedUnit", "attempt", "category", "categorySet", "categoryUse", "counter", "edge", "ending", "event",
            "graphObserver", "label", "meta", "operation", "owedObserver", "policy", "queue", "rateStart", "runner",
            "schedule",
            "scheduleInstant", "slotTime",
            "submission", "suspendedGraph", "text", "triggerKey",
        ],
        "index": [
            "edgeCrossing", "graphObserverOwed", "operationByName", "operationByParent", "operationByRoot",
            "operationUnfinished", "operationUnsuccessful",
            "scheduleInstantUnresolved", "submissionByGraph", "submissionByKey", "submissionByName", "submissionByUser",
            "textByHash",
        ],
        "view": ["attempts", "events", "graphs", "notes", "operations", "stagedLaunches"],
    ]

    /// The same objects in the form of `objects(of:)`.
    static var expected: Set<String> {
        Set(made.flatMap { type, names in names.map { "\(type) \($0)" } })
    }

    /// Returns type and name of every object in a database.
    static func objects(of database: Database) throws(StoreError) -> Set<String> {
        let found = try database.prepare(
            "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
        var objects: Set<String> = []
        while try found.step() { objects.insert(found.text(0)) }
        return objects
    }

    static func refuse(version: Int64, application: Int64, _ path: String) throws(StoreError) {
        guard application == Migration.applicationID else {
            throw StoreError(.notADatabase, "this database belongs to another program", file: path)
        }
        guard version <= Migration.newest else {
            throw StoreError(
                .newerSchema, "its schema is version \(version), this opsd knows up to \(Migration.newest)", file: path)
        }
    }

    /// Keeps a copy of the database before a migration, for a return to the older version.
    private static func keepCopy(of database: Database, version: Int64) throws(StoreError) {
        let copy = "\(resolvingDirectory(of: database.path)).v\(version)"
        let part = copy + ".part"
        // The file is left over from an opsd that died in a migration; by the lock on the state directory, no other one
        // is running.
        unsafe unlink(part)
        // The copy is complete or does not exist, like every backup.
        let backup = try RunningBackup(of: database, to: copy, through: part)
        while try backup.step() {}
    }

    /// Returns the path of a file without the links in its directory: SQLite makes no copy at a path with a link.
    private static func resolvingDirectory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
            let directory = unsafe realpath(String(path[...slash]), nil)
        else { return path }
        defer { unsafe free(directory) }
        return unsafe String(cString: directory) + path[slash...]
    }
}
