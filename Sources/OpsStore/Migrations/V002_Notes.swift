/// A note on an operation, and a view of all notes.
let v002 = Migration(
    version: 2,
    sql: """
        ALTER TABLE operation ADD COLUMN note TEXT;
        CREATE VIEW notes AS SELECT id, note FROM operation WHERE note IS NOT NULL;
        """)
