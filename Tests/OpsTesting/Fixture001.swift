/// A database as the first released schema left it (`sqlite3 opsd.db .dump`). It is never edited, because it stands for
/// existing databases.
public let fixture001 = #"""
    PRAGMA foreign_keys=OFF;
    BEGIN TRANSACTION;
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        nextOperation INTEGER NOT NULL,
        nextGraph INTEGER NOT NULL,
        lastSequence INTEGER NOT NULL,
        suspended INTEGER NOT NULL,
        probes INTEGER NOT NULL
    ) STRICT;
    INSERT INTO meta VALUES(1,1,1,0,0,0);
    CREATE TABLE queue (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        "limit" INTEGER,
        aging INTEGER,
        suspended INTEGER NOT NULL DEFAULT 0,
        removed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO queue VALUES(1,'default',NULL,NULL,0,0);
    INSERT INTO queue VALUES(2,'main',1,NULL,0,0);
    CREATE TABLE category (
        name TEXT PRIMARY KEY,
        capacity INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO category VALUES('gpu',3);
    CREATE TABLE categorySet (
        id INTEGER PRIMARY KEY
    ) STRICT;
    INSERT INTO categorySet VALUES(1);
    CREATE TABLE categoryUse (
        categorySet INTEGER NOT NULL REFERENCES categorySet,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        mode INTEGER NOT NULL,
        units INTEGER NOT NULL,
        PRIMARY KEY (categorySet, place)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO categoryUse VALUES(1,0,'db',2,1);
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
    INSERT INTO policy VALUES(1,30000000000,10000000000,NULL,NULL,3,1000000000,2000,300000000000,100,3,'2,75','0,4',1,2,'wait:5,skip:10000000000',NULL,5);
    CREATE TABLE text (
        id INTEGER PRIMARY KEY,
        hash INTEGER,
        body TEXT NOT NULL
    ) STRICT;
    INSERT INTO text VALUES(1,645223143103797797,'{}');
    INSERT INTO text VALUES(2,-5808561271200422464,'e');
    INSERT INTO text VALUES(3,NULL,'["c1"]');
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
    INSERT INTO submission VALUES(1,3,1,1,NULL,NULL,0,0,'root',NULL,1700000000000000001);
    CREATE TABLE suspendedGraph (
        graph INTEGER PRIMARY KEY
    ) STRICT;
    INSERT INTO suspendedGraph VALUES(1);
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
    INSERT INTO operation VALUES(1,3,0,0,1,NULL,NULL,NULL,1,1,0,1700000000000000001,NULL,0,1700000000000000001,1700000000000000001,1,NULL,'exit status 2','n1',3,1,2);
    INSERT INTO operation VALUES(2,0,0,0,1,NULL,NULL,NULL,0,1,0,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'n2',3,1,2);
    INSERT INTO operation VALUES(3,0,6,0,1,1,1,NULL,0,1,0,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'n3',3,1,2);
    CREATE TABLE edge (
        operation INTEGER NOT NULL REFERENCES operation,
        dependency INTEGER NOT NULL,
        "when" INTEGER NOT NULL,
        crossing INTEGER NOT NULL,
        settled INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (operation, dependency, "when")
    ) STRICT, WITHOUT ROWID;
    INSERT INTO edge VALUES(2,1,0,0,0);
    INSERT INTO edge VALUES(3,2,0,0,0);
    CREATE TABLE runner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        boot TEXT NOT NULL
    ) STRICT;
    INSERT INTO runner VALUES(1,'r','boot');
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
    INSERT INTO attempt VALUES(1,1,1,1,0,1,1700000000000000001,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'exit status 1',1,1,NULL,NULL,NULL,1700000000000000001);
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
    INSERT INTO owedObserver VALUES(1,1);
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
    INSERT INTO event VALUES(1,1700000000000000001,0,1,1,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO event VALUES(2,1700000000000000001,0,1,1,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO event VALUES(3,1700000000000000001,0,1,1,NULL,NULL,NULL,NULL,NULL);
    CREATE INDEX textByHash ON text (hash) WHERE hash IS NOT NULL;
    CREATE INDEX submissionByGraph ON submission (graph);
    CREATE INDEX submissionByName ON submission (name) WHERE name IS NOT NULL;
    CREATE INDEX submissionByKey ON submission (key) WHERE key IS NOT NULL;
    CREATE INDEX operationUnfinished ON operation (state) WHERE state < 3;
    CREATE INDEX operationByName ON operation (name) WHERE name IS NOT NULL;
    CREATE INDEX operationByParent ON operation (parent) WHERE parent IS NOT NULL;
    CREATE INDEX operationByRoot ON operation (root) WHERE root IS NOT NULL;
    CREATE INDEX edgeCrossing ON edge (dependency) WHERE crossing;
    CREATE VIEW operations AS
    SELECT o.id, o.name, 'g' || s.graph AS graph, q.name AS queue,
        CASE o.state WHEN 0 THEN 'pending' WHEN 1 THEN 'ready' WHEN 2 THEN 'executing' WHEN 3 THEN 'finished' END AS state,
        CASE o.outcome WHEN 0 THEN 'succeeded' WHEN 1 THEN 'failed' WHEN 2 THEN 'timedOut' WHEN 3 THEN 'cancelled' WHEN 4 THEN 'skipped' WHEN 5 THEN 'interrupted' END AS outcome,
        o.cause, c.body AS command, o.priority, o.attempt, o.run, a.exitCode, a.signal,
        EXISTS (SELECT 1 FROM ending WHERE operation = o.id) AS cancelling, o.frozen,
        (o.flags & 4) <> 0 AS held, (o.flags & 1) <> 0 AS isGroup, (o.flags & 2) <> 0 AS barrier,
        (SELECT json_group_array(json_object(
            'id', dependency, 'when', CASE "when" WHEN 0 THEN 'succeeded' WHEN 1 THEN 'finished' WHEN 2 THEN 'failed' WHEN 3 THEN 'started' END)) FROM edge WHERE operation = o.id
        ) AS dependencies,
        (SELECT json_group_array(json_object(
            'name', name, 'mode', CASE mode WHEN 0 THEN 'units' WHEN 1 THEN 'exclusive' WHEN 2 THEN 'shared' END, 'units', units))
            FROM categoryUse WHERE categorySet = o.categories
        ) AS categories,
        json_extract(d.body, '$.labels') AS labels, s.user, s.producer AS producedBy, o.parent AS "group",
        a.progressDone, a.progressTotal, a.status AS statusText, a.result, s.key,
        strftime('%Y-%m-%dT%H:%M:%S', s.at / 1000000000, 'unixepoch') || printf('.%03dZ', s.at / 1000000 % 1000) AS submittedAt, strftime('%Y-%m-%dT%H:%M:%S', o.readyAt / 1000000000, 'unixepoch') || printf('.%03dZ', o.readyAt / 1000000 % 1000) AS readyAt,
        strftime('%Y-%m-%dT%H:%M:%S', o.startedAt / 1000000000, 'unixepoch') || printf('.%03dZ', o.startedAt / 1000000 % 1000) AS startedAt, strftime('%Y-%m-%dT%H:%M:%S', o.finishedAt / 1000000000, 'unixepoch') || printf('.%03dZ', o.finishedAt / 1000000 % 1000) AS finishedAt,
        a.userMicroseconds / 1e6 AS userSeconds, a.systemMicroseconds / 1e6 AS systemSeconds, a.maxResidentBytes,
        d.body AS details
    FROM operation o
    JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
    JOIN queue q ON q.id = o.queue
    LEFT JOIN text c ON c.id = o.command
    LEFT JOIN text d ON d.id = o.details
    LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt;
    CREATE VIEW attempts AS
    SELECT a.operation, a.number AS attempt, a.run, a.slot, a.pid,
        CASE a.outcome WHEN 0 THEN 'succeeded' WHEN 1 THEN 'failed' WHEN 2 THEN 'timedOut' WHEN 3 THEN 'cancelled' WHEN 4 THEN 'skipped' WHEN 5 THEN 'interrupted' END AS outcome, a.cause, a.exitCode, a.signal, a.outOfMemory,
        strftime('%Y-%m-%dT%H:%M:%S', a.startedAt / 1000000000, 'unixepoch') || printf('.%03dZ', a.startedAt / 1000000 % 1000) AS startedAt, strftime('%Y-%m-%dT%H:%M:%S', a.exitedAt / 1000000000, 'unixepoch') || printf('.%03dZ', a.exitedAt / 1000000 % 1000) AS exitedAt,
        strftime('%Y-%m-%dT%H:%M:%S', a.finishedAt / 1000000000, 'unixepoch') || printf('.%03dZ', a.finishedAt / 1000000 % 1000) AS finishedAt,
        a.userMicroseconds / 1e6 AS userSeconds, a.systemMicroseconds / 1e6 AS systemSeconds, a.maxResidentBytes,
        a.progressDone, a.progressTotal, a.status AS statusText, a.result, r.name AS runner, r.boot
    FROM attempt a JOIN runner r ON r.id = a.runner;
    CREATE VIEW events AS
    SELECT seq, strftime('%Y-%m-%dT%H:%M:%S', at / 1000000000, 'unixepoch') || printf('.%03dZ', at / 1000000 % 1000) AS at, operation AS id, 'g' || graph AS graph,
        CASE kind WHEN 0 THEN 'submitted' WHEN 1 THEN 'ready' WHEN 2 THEN 'started' WHEN 3 THEN 'progress' WHEN 4 THEN 'produced' WHEN 5 THEN 'retrying' WHEN 6 THEN 'cancelling' WHEN 7 THEN 'suspended' WHEN 8 THEN 'resumed' WHEN 9 THEN 'finished' WHEN 10 THEN 'edited' WHEN 11 THEN 'conditionFalse' WHEN 12 THEN 'interrupted' END AS type, CASE old WHEN 0 THEN 'pending' WHEN 1 THEN 'ready' WHEN 2 THEN 'executing' WHEN 3 THEN 'finished' END AS old, CASE new WHEN 0 THEN 'pending' WHEN 1 THEN 'ready' WHEN 2 THEN 'executing' WHEN 3 THEN 'finished' END AS new,
        CASE outcome WHEN 0 THEN 'succeeded' WHEN 1 THEN 'failed' WHEN 2 THEN 'timedOut' WHEN 3 THEN 'cancelled' WHEN 4 THEN 'skipped' WHEN 5 THEN 'interrupted' END AS outcome, product, detail
    FROM event;
    CREATE VIEW graphs AS
    SELECT 'g' || s.graph AS graph, s.name, s.user, strftime('%Y-%m-%dT%H:%M:%S', s.at / 1000000000, 'unixepoch') || printf('.%03dZ', s.at / 1000000 % 1000) AS submittedAt,
        (SELECT sum(count) FROM submission WHERE graph = s.graph) AS operations,
        EXISTS (SELECT 1 FROM suspendedGraph WHERE graph = s.graph) AS suspended
    FROM submission s WHERE s.isNew;
    COMMIT;
    PRAGMA application_id = 1869640548;
    PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
    """#
