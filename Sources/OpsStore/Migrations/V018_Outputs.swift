/// The attempts that have left something in their output directory.
let v018 = Migration(version: 18, sql: "ALTER TABLE attempt ADD COLUMN outputs INTEGER NOT NULL DEFAULT 0;")
