/// Records of schedules have the outcome of a run, which stays when its graph is gone, and the key of its trigger.
/// Several may have one nominal instant. Keys of triggers: files and lines that have triggered a run.
let v012 = Migration(
    version: 12,
    sql: """
        ALTER TABLE schedule ADD COLUMN boot TEXT;
        ALTER TABLE scheduleInstant RENAME TO formerScheduleInstant;
        CREATE TABLE scheduleInstant (
            schedule INTEGER NOT NULL,
            nominal INTEGER NOT NULL,
            origin INTEGER NOT NULL,
            number INTEGER NOT NULL,
            through INTEGER NOT NULL,
            count INTEGER NOT NULL,
            result INTEGER NOT NULL,
            graph INTEGER,
            at INTEGER NOT NULL,
            note TEXT,
            key TEXT,
            outcome INTEGER,
            PRIMARY KEY (schedule, nominal, origin, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO scheduleInstant
        SELECT schedule, nominal, origin, 0, through, count, result, graph, at, note, NULL, NULL
        FROM formerScheduleInstant;
        DROP TABLE formerScheduleInstant;
        CREATE INDEX scheduleInstantUnsettled ON scheduleInstant (graph) WHERE graph IS NOT NULL AND outcome IS NULL;
        CREATE TABLE triggerKey (
            schedule INTEGER NOT NULL,
            key TEXT NOT NULL,
            identity TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (schedule, key)
        ) STRICT, WITHOUT ROWID;
        """)
