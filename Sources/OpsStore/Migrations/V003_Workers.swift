/// The size of the pool as a user chose it, and what was configured then.
let v003 = Migration(
    version: 3,
    sql: """
        ALTER TABLE meta ADD COLUMN workers INTEGER;
        ALTER TABLE meta ADD COLUMN workersInsteadOf INTEGER;
        """)
