/// The last instant of a schedule whose record was removed, so that no backfill repeats its run.
let v029 = Migration(version: 29, sql: "ALTER TABLE schedule ADD COLUMN removedThrough INTEGER;")
