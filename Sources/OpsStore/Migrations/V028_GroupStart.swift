/// The starts of groups on the monotonic clock, and their boots. Queues that were removed while they were fair are not.
let v028 = Migration(
    version: 28,
    sql: """
        ALTER TABLE operation ADD COLUMN startedMonotonic INTEGER;
        ALTER TABLE operation ADD COLUMN boot TEXT;
        UPDATE queue SET fair = 0 WHERE removed;
        """)
