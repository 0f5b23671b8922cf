/// Staged launches change with every turn of short operations, and there are sixteen at most: one value, not a row
/// each.
let v005 = Migration(
    version: 5,
    sql: """
        ALTER TABLE meta ADD COLUMN hand TEXT NOT NULL DEFAULT '[]';
        UPDATE meta SET hand = (SELECT json_group_array(json_array(operation, attempt, runner)) FROM foretold);
        DROP TABLE foretold;
        CREATE VIEW foretold AS
        SELECT json_extract(start.value, '$[0]') AS operation, json_extract(start.value, '$[1]') AS attempt,
            json_extract(start.value, '$[2]') AS runner
        FROM meta, json_each(meta.hand) AS start;
        """)
