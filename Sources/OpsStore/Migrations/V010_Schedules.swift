/// Schedules, and the record of each nominal instant, with its result.
let v010 = Migration(
    version: 10,
    sql: """
        CREATE TABLE schedule (
            id INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            user TEXT NOT NULL,
            gid INTEGER NOT NULL,
            name TEXT NOT NULL,
            definition TEXT NOT NULL,
            addedAt INTEGER NOT NULL,
            accounted INTEGER NOT NULL,
            runs INTEGER NOT NULL,
            pausedThrough INTEGER,
            isPaused INTEGER NOT NULL,
            UNIQUE (uid, name)
        ) STRICT;
        CREATE TABLE scheduleInstant (
            schedule INTEGER NOT NULL,
            nominal INTEGER NOT NULL,
            origin INTEGER NOT NULL,
            through INTEGER NOT NULL,
            count INTEGER NOT NULL,
            result INTEGER NOT NULL,
            graph INTEGER,
            at INTEGER NOT NULL,
            note TEXT,
            PRIMARY KEY (schedule, nominal, origin)
        ) STRICT, WITHOUT ROWID;
        """)
