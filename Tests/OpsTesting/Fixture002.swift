/// A database as the second schema left it: the exact result of that migration of the first one. It is never edited.
public let fixture002 =
    fixture001 + #"""
        ALTER TABLE operation ADD COLUMN note TEXT;
        CREATE VIEW notes AS SELECT id, note FROM operation WHERE note IS NOT NULL;
        UPDATE operation SET note = 'ask Ann' WHERE id = 1;
        PRAGMA user_version = 2;
        """#
