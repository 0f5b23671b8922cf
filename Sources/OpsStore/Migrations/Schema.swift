/// Brings a database to the newest schema, or says why it cannot be used.
enum Schema {
    static func bringUpToDate(_ database: Database) throws(StoreError) {
        let version = try database.integer("PRAGMA user_version")
        let application = try database.integer("PRAGMA application_id")
        if version > 0 { try refuse(version: version, application: application, database.path) }
        if version == Migration.newest { return }
        if version > 0 { try keepCopy(of: database, version: version) }
        try database.transaction { () throws(StoreError) in
            for migration in Migration.all where migration.version > version { try database.execute(migration.sql) }
            try database.execute("PRAGMA application_id = \(Migration.applicationID)")
            try database.execute("PRAGMA user_version = \(Migration.newest)")
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
        try Backup(from: database, to: copy).finish()
    }
}
