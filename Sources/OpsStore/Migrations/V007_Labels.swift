/// Labels in a table of their own, by which a selection finds them: once for all operations that share their details.
let v007 = Migration(
    version: 7,
    sql: """
        CREATE TABLE label (
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            details INTEGER NOT NULL,
            PRIMARY KEY (name, value, details)
        ) STRICT, WITHOUT ROWID;
        INSERT OR IGNORE INTO label (name, value, details)
        SELECT own.key, own.value, text.id
        FROM (SELECT DISTINCT details FROM operation) AS used JOIN text ON text.id = used.details,
            json_each(text.body, '$.labels') AS own
        WHERE own.type = 'text';
        """)
