/// The condition of an index in terms that SQLite compares one by one: for a list it builds a temporary table whenever a
/// statement writes the column.
let v024 = Migration(
    version: 24,
    sql: """
        DROP INDEX operationUnsuccessful;
        CREATE INDEX operationUnsuccessful ON operation (outcome) WHERE outcome = 1 OR outcome = 2 OR outcome = 5;

        """)
