/// The user of an operation beside its name, so that a user's own operation is found however many others have the name.
let v027 = Migration(
    version: 27,
    sql: """
        ALTER TABLE operation ADD COLUMN uid INTEGER NOT NULL DEFAULT 0;
        UPDATE operation SET uid = s.uid FROM submission s
        WHERE s.uid <> 0 AND operation.id BETWEEN s.first AND s.first + s.count - 1;
        DROP INDEX operationByName;
        CREATE INDEX operationByName ON operation (name, uid) WHERE name IS NOT NULL;
        CREATE INDEX submissionByUser ON submission (uid, name) WHERE name IS NOT NULL;

        """)
