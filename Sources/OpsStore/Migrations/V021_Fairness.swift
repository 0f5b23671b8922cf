/// Queues may be fair between users. `slotTime` holds the nanoseconds of slot time of each user in each of them, as they
/// counted at a wall instant.
let v021 = Migration(
    version: 21,
    sql: """
        ALTER TABLE queue ADD COLUMN fair INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE slotTime (
            queue TEXT NOT NULL,
            user INTEGER NOT NULL,
            used INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (queue, user)
        ) STRICT, WITHOUT ROWID;
        """)
