/// Staged launches: the runner may start them at any moment, by itself.
let v004 = Migration(
    version: 4,
    sql: """
        CREATE TABLE foretold (
            operation INTEGER PRIMARY KEY REFERENCES operation,
            attempt INTEGER NOT NULL,
            runner INTEGER NOT NULL REFERENCES runner
        ) STRICT;
        """)
