/// The order of each queue, and the longest estimated path of operations, in milliseconds; null: in the order of
/// submission.
let v015 = Migration(
    version: 15,
    sql: """
        ALTER TABLE queue ADD COLUMN "order" INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE operation ADD COLUMN path INTEGER;
        """)
