/// The factors by which values of an operation grow from attempt to attempt; null: none does.
let v016 = Migration(version: 16, sql: "ALTER TABLE policy ADD COLUMN retryScale TEXT;")
