/// Numbers that only grow, of finished operations and of durations; and the random name of the database.
let v008 = Migration(
    version: 8,
    sql: """
        ALTER TABLE meta ADD COLUMN countedTo INTEGER;
        ALTER TABLE meta ADD COLUMN instance TEXT NOT NULL DEFAULT '';
        UPDATE meta SET instance = lower(hex(randomblob(16)));
        CREATE TABLE counter (
            family INTEGER NOT NULL,
            queue INTEGER NOT NULL,
            part INTEGER NOT NULL,
            count INTEGER NOT NULL,
            sum INTEGER NOT NULL,
            PRIMARY KEY (family, queue, part)
        ) STRICT, WITHOUT ROWID;
        """)
