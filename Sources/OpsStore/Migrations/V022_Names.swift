/// Columns and views with the names of their concepts: staged launches, resolved edges, observers that have run.
let v022 = Migration(
    version: 22,
    sql: """
        DROP VIEW foretold;
        ALTER TABLE meta RENAME COLUMN hand TO staged;
        CREATE VIEW stagedLaunches AS
        SELECT json_extract(start.value, '$[0]') AS operation, json_extract(start.value, '$[1]') AS attempt,
            json_extract(start.value, '$[2]') AS runner
        FROM meta, json_each(meta.staged) AS start;
        ALTER TABLE edge RENAME COLUMN settled TO resolved;
        ALTER TABLE graphObserver RENAME COLUMN told TO ran;
        DROP INDEX scheduleInstantUnsettled;
        CREATE INDEX scheduleInstantUnresolved ON scheduleInstant (graph) WHERE graph IS NOT NULL AND outcome IS NULL;
        """)
