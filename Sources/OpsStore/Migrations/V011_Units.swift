/// Categories may have named units: their list, separated by commas, and the units that each attempt was assigned. The
/// attempt of a group is 0.
let v011 = Migration(
    version: 11,
    sql: """
        ALTER TABLE category ADD COLUMN units TEXT;
        ALTER TABLE category ADD COLUMN share INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE category ADD COLUMN export TEXT;

        CREATE TABLE assignedUnit (
            operation INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            category TEXT NOT NULL,
            units TEXT NOT NULL,
            PRIMARY KEY (operation, attempt, category)
        ) STRICT, WITHOUT ROWID;
        """)
