/// One step of the schema, from the version before to `version`.
struct Migration {
    let version: Int64
    let sql: String

    /// All migrations in order; append only.
    static let all = [
        v001, v002, v003, v004, v005, v006, v007, v008, v009, v010, v011, v012, v013, v014, v015, v016, v017,
        v018, v019, v020, v021, v022, v023, v024, v025, v026, v027, v028, v029,
    ]
    static var newest: Int64 { all.last?.version ?? 0 }
    /// "opsd" in ASCII, which distinguishes files of opsd from other SQLite databases.
    static let applicationID: Int64 = 0x6f70_7364
}
