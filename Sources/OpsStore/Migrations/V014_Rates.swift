/// Categories may limit the starts of their operations within an interval, in nanoseconds. `rateStart` holds the starts
/// of the latest interval on the boot's own clock; `count` of them at the same instant.
let v014 = Migration(
    version: 14,
    sql: """
        ALTER TABLE category ADD COLUMN rateCount INTEGER;
        ALTER TABLE category ADD COLUMN rateInterval INTEGER;

        CREATE TABLE rateStart (
            category TEXT NOT NULL,
            boot TEXT NOT NULL,
            at INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (category, boot, at)
        ) STRICT, WITHOUT ROWID;
        """)
