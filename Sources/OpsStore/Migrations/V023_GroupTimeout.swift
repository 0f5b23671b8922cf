/// The timeouts of groups that are or were frozen.
let v023 = Migration(version: 23, sql: "ALTER TABLE operation ADD COLUMN timeout INTEGER;")
