/// Shared texts are found by a hash with a secret key. Texts from before are not found again, and stored once more.
let v006 = Migration(
    version: 6,
    sql: """
        ALTER TABLE meta ADD COLUMN textKeyLow INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE meta ADD COLUMN textKeyHigh INTEGER NOT NULL DEFAULT 0;
        UPDATE meta SET textKeyLow = random(), textKeyHigh = random();
        """)
