/// The starts of groups on the monotonic clock, and their boots.
let v028 = Migration(
    version: 28,
    sql: """
        ALTER TABLE operation ADD COLUMN startedMonotonic INTEGER;
        ALTER TABLE operation ADD COLUMN boot TEXT;
        """)
