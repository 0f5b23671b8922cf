/// The first schema. Released: it is never edited, only followed by others. docs/SCHEMA.md explains it.
let v001 = Migration(
    version: 1,
    sql: """
        CREATE TABLE meta (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            nextOperation INTEGER NOT NULL,
            nextGraph INTEGER NOT NULL,
            lastSequence INTEGER NOT NULL,
            suspended INTEGER NOT NULL,
            probes INTEGER NOT NULL
        ) STRICT;
        INSERT INTO meta VALUES (1, 1, 1, 0, 0, 0);

        CREATE TABLE queue (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            "limit" INTEGER,
            aging INTEGER,
            suspended INTEGER NOT NULL DEFAULT 0,
            removed INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO queue (id, name, "limit") VALUES (1, 'default', NULL), (2, 'main', 1);

        CREATE TABLE category (
            name TEXT PRIMARY KEY,
            capacity INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE categorySet (
            id INTEGER PRIMARY KEY
        ) STRICT;

        CREATE TABLE categoryUse (
            categorySet INTEGER NOT NULL REFERENCES categorySet,
            place INTEGER NOT NULL,
            name TEXT NOT NULL,
            mode INTEGER NOT NULL,
            units INTEGER NOT NULL,
            PRIMARY KEY (categorySet, place)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE policy (
            id INTEGER PRIMARY KEY,
            timeout INTEGER,
            grace INTEGER NOT NULL,
            deadline INTEGER,
            notBefore INTEGER,
            retryLimit INTEGER,
            retryBackoff INTEGER,
            retryFactor INTEGER,
            retryMax INTEGER,
            retryJitter INTEGER,
            retryOn INTEGER,
            retryExitCodes TEXT,
            successCodes TEXT NOT NULL,
            completion INTEGER NOT NULL,
            leftovers INTEGER NOT NULL,
            conditions TEXT NOT NULL,
            childLimit INTEGER,
            observers INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE text (
            id INTEGER PRIMARY KEY,
            hash INTEGER,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX textByHash ON text (hash) WHERE hash IS NOT NULL;

        CREATE TABLE submission (
            first INTEGER PRIMARY KEY,
            count INTEGER NOT NULL CHECK (count > 0),
            graph INTEGER NOT NULL,
            isNew INTEGER NOT NULL,
            name TEXT,
            key TEXT,
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            user TEXT NOT NULL,
            producer INTEGER,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX submissionByGraph ON submission (graph);
        CREATE INDEX submissionByName ON submission (name) WHERE name IS NOT NULL;
        CREATE INDEX submissionByKey ON submission (key) WHERE key IS NOT NULL;

        CREATE TABLE suspendedGraph (
            graph INTEGER PRIMARY KEY
        ) STRICT;

        CREATE TABLE operation (
            id INTEGER PRIMARY KEY,
            state INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            queue INTEGER NOT NULL REFERENCES queue,
            categories INTEGER,
            policy INTEGER,
            parent INTEGER,
            attempt INTEGER NOT NULL DEFAULT 0,
            run INTEGER NOT NULL DEFAULT 1,
            attemptsBefore INTEGER NOT NULL DEFAULT 0,
            readyAt INTEGER,
            notBefore INTEGER,
            frozen INTEGER NOT NULL DEFAULT 0,
            startedAt INTEGER,
            finishedAt INTEGER,
            outcome INTEGER,
            root INTEGER,
            cause TEXT,
            name TEXT,
            command INTEGER,
            details INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            CHECK (state BETWEEN 0 AND 3),
            CHECK ((state = 3) = (outcome IS NOT NULL))
        ) STRICT;
        CREATE INDEX operationUnfinished ON operation (state) WHERE state < 3;
        CREATE INDEX operationByName ON operation (name) WHERE name IS NOT NULL;
        CREATE INDEX operationByParent ON operation (parent) WHERE parent IS NOT NULL;
        CREATE INDEX operationByRoot ON operation (root) WHERE root IS NOT NULL;

        CREATE TABLE edge (
            operation INTEGER NOT NULL REFERENCES operation,
            dependency INTEGER NOT NULL,
            "when" INTEGER NOT NULL,
            crossing INTEGER NOT NULL,
            settled INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (operation, dependency, "when")
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX edgeCrossing ON edge (dependency) WHERE crossing;

        CREATE TABLE runner (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            boot TEXT NOT NULL
        ) STRICT;

        CREATE TABLE attempt (
            operation INTEGER NOT NULL REFERENCES operation,
            number INTEGER NOT NULL,
            run INTEGER NOT NULL,
            runner INTEGER NOT NULL REFERENCES runner,
            slot INTEGER NOT NULL,
            startedMonotonic INTEGER NOT NULL,
            startedAt INTEGER NOT NULL,
            pid INTEGER,
            startTicks INTEGER,
            launchedMonotonic INTEGER,
            launchedAt INTEGER,
            exitCode INTEGER,
            signal INTEGER,
            outOfMemory INTEGER,
            exitedMonotonic INTEGER,
            exitedAt INTEGER,
            userMicroseconds INTEGER,
            systemMicroseconds INTEGER,
            maxResidentBytes INTEGER,
            timeout INTEGER,
            progressDone INTEGER,
            progressTotal INTEGER,
            status TEXT,
            result TEXT,
            outcome INTEGER,
            cause TEXT,
            causeKind INTEGER,
            causeNumber INTEGER,
            causeOther INTEGER,
            causeText TEXT,
            causeNote TEXT,
            finishedAt INTEGER,
            PRIMARY KEY (operation, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE ending (
            operation INTEGER PRIMARY KEY REFERENCES operation,
            outcome INTEGER NOT NULL,
            causeKind INTEGER NOT NULL,
            causeNumber INTEGER,
            causeOther INTEGER,
            causeText TEXT,
            causeNote TEXT,
            "by" TEXT NOT NULL,
            reason TEXT
        ) STRICT;

        CREATE TABLE owedObserver (
            operation INTEGER NOT NULL REFERENCES operation,
            run INTEGER NOT NULL,
            PRIMARY KEY (operation, run)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE event (
            seq INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            operation INTEGER,
            graph INTEGER,
            old INTEGER,
            new INTEGER,
            outcome INTEGER,
            product INTEGER,
            detail TEXT
        ) STRICT;
        """ + v001Views)
