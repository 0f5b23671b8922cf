/// Brings a database to the newest schema, or says why it cannot be used.
enum Schema {
    static func bringUpToDate(
        _ database: Database, by migrations: [Migration] = Migration.all
    ) throws(StoreError) {
        let newest = migrations.last?.version ?? 0
        let version = try database.integer("PRAGMA user_version")
        let application = try database.integer("PRAGMA application_id")
        if version > 0 { try refuse(version: version, application: application, database.path) }
        if version == newest { return }
        if version > 0 { try keepCopy(of: database, version: version) }
        try database.transaction { () throws(StoreError) in
            for migration in migrations where migration.version > version { try database.execute(migration.sql) }
            try database.execute("PRAGMA application_id = \(Migration.applicationID)")
            try database.execute("PRAGMA user_version = \(newest)")
        }
    }

    /// Everything that the migrations make is there; what somebody has added does no harm.
    static func expectComplete(_ database: Database) throws(StoreError) {
        let model = try Database(":memory:", .create)
        for migration in Migration.all { try model.execute(migration.sql) }
        let names = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
        let wanted = try model.prepare(names)
        let found = try database.prepare(names)
        var present: Set<String> = []
        while try found.step() { present.insert(found.text(0)) }
        while try wanted.step() {
            if !present.contains(wanted.text(0)) {
                throw StoreError(.corrupt, "the \(wanted.text(0)) is missing", file: database.path)
            }
        }
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

    /// The way back, should the new version be given up.
    private static func keepCopy(of database: Database, version: Int64) throws(StoreError) {
        let copy = "\(database.path).v\(version)"
        // Whole or not there at all, like every backup.
        let backup = try RunningBackup(of: database, to: copy)
        while try backup.step() {}
    }
}
