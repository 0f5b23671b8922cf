/// Observers of graphs: `told` holds those that have run since `since` (1 failure, 2 finish).
let v017 = Migration(
    version: 17,
    sql: """
        CREATE TABLE graphObserver (
            graph INTEGER PRIMARY KEY,
            finish TEXT,
            failure TEXT,
            told INTEGER NOT NULL DEFAULT 0,
            since INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX graphObserverOwed ON graphObserver (graph) WHERE told < 2;
        """)
