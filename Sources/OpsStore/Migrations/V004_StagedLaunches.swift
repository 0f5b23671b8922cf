/// Starts that are in the runner's hand: they may happen at any moment, by the runner alone.
let v004 = Migration(
    version: 4,
    sql: """
        CREATE TABLE foretold (
            operation INTEGER PRIMARY KEY REFERENCES operation,
            attempt INTEGER NOT NULL,
            runner INTEGER NOT NULL REFERENCES runner
        ) STRICT;
        """)
