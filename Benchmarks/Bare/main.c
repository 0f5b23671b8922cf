// bare: the least that a machine must do for each of the things opsd does. Each mode prints seconds.
//
//   bare spawn N WIDTH DIR [CMD ARG...]   N x /bin/true (or CMD), WIDTH at a time, each with a log file in DIR
//   bare chain N DIR [CMD ARG...]         the same, one after the other
//   bare commit N DB           N one-row commits, WAL, synchronous=FULL
//   bare insert FROM DB        every row of FROM's tables into a new DB with the same schema, one transaction
//   bare scan DB TABLE...      every column of every row of the tables
//   bare sync N FILE           N appends of 100 bytes, each with fdatasync
//
// And two that print a number and nanoseconds since boot in each line:
//
//   bare starts DB             operations, and when opsd began the turn that started them
//   bare stamps N DIR CMD...   N x CMD, one after the other, and when each was to be started
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what) {
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void start(int i, const char *directory, char **command) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.log", directory, i);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) die(path);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t pid;
    errno = posix_spawn(&pid, command[0], &actions, &attributes, command, environ);
    if (errno) die("posix_spawn");
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(log);
}

static void spawn_all(int count, int width, const char *directory, char **command) {
    char *plain[] = {"/bin/true", NULL};
    if (!command[0]) command = plain;
    int running = 0;
    for (int i = 0; i < count; i++) {
        if (running == width) {
            if (wait(NULL) < 0) die("wait");
            running--;
        }
        start(i, directory, command);
        running++;
    }
    while (running-- > 0)
        if (wait(NULL) < 0) die("wait");
}

static void check(sqlite3 *db, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
    fprintf(stderr, "bare: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static sqlite3 *database(const char *path, int flags) {
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) check(db, SQLITE_ERROR);
    return db;
}

static sqlite3 *durable(const char *path) {
    sqlite3 *db = database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    check(db, sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", NULL, NULL, NULL));
    return db;
}

static void commits(int count, const char *path) {
    sqlite3 *db = durable(path);
    check(db, sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, x TEXT)", NULL, NULL, NULL));
    sqlite3_stmt *insert;
    check(db, sqlite3_prepare_v2(db, "INSERT INTO t(x) VALUES ('a row of about the size of an operation')", -1, &insert, NULL));
    for (int i = 0; i < count; i++) {
        check(db, sqlite3_step(insert)); // its own transaction
        check(db, sqlite3_reset(insert));
    }
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

struct table {
    char *insert;
    int columns, rows;
    sqlite3_value **values;
    struct table *next;
};

// Reads everything first, so that only the writing is timed.
static struct table *read_all(sqlite3 *from, sqlite3 *to) {
    struct table *tables = NULL;
    sqlite3_stmt *names;
    check(from, sqlite3_prepare_v2(from, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND type IN ('table', 'index') ORDER BY type DESC, rowid", -1, &names, NULL));
    while (sqlite3_step(names) == SQLITE_ROW) {
        check(to, sqlite3_exec(to, (const char *)sqlite3_column_text(names, 2), NULL, NULL, NULL));
        if (strcmp((const char *)sqlite3_column_text(names, 0), "table") != 0) continue;
        struct table *table = calloc(1, sizeof *table);
        char *select = sqlite3_mprintf("SELECT * FROM \"%w\"", sqlite3_column_text(names, 1));
        sqlite3_stmt *rows;
        check(from, sqlite3_prepare_v2(from, select, -1, &rows, NULL));
        table->columns = sqlite3_column_count(rows);
        char *marks = sqlite3_mprintf("?");
        for (int i = 1; i < table->columns; i++) marks = sqlite3_mprintf("%z,?", marks);
        table->insert = sqlite3_mprintf("INSERT INTO \"%w\" VALUES (%z)", sqlite3_column_text(names, 1), marks);
        int room = 0;
        while (sqlite3_step(rows) == SQLITE_ROW) {
            if (table->rows == room) {
                room = room ? room * 2 : 1024;
                table->values = realloc(table->values, sizeof(sqlite3_value *) * room * table->columns);
            }
            for (int i = 0; i < table->columns; i++)
                table->values[table->rows * table->columns + i] = sqlite3_value_dup(sqlite3_column_value(rows, i));
            table->rows++;
        }
        sqlite3_finalize(rows);
        sqlite3_free(select);
        table->next = tables;
        tables = table;
    }
    sqlite3_finalize(names);
    return tables;
}

static double insert_all(const char *source, const char *path) {
    sqlite3 *from = database(source, SQLITE_OPEN_READONLY), *to = durable(path);
    struct table *tables = read_all(from, to);
    double begin = now();
    check(to, sqlite3_exec(to, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    for (struct table *table = tables; table; table = table->next) {
        sqlite3_stmt *insert;
        check(to, sqlite3_prepare_v2(to, table->insert, -1, &insert, NULL));
        for (int row = 0; row < table->rows; row++) {
            for (int i = 0; i < table->columns; i++)
                check(to, sqlite3_bind_value(insert, i + 1, table->values[row * table->columns + i]));
            check(to, sqlite3_step(insert));
            check(to, sqlite3_reset(insert));
        }
        sqlite3_finalize(insert);
    }
    check(to, sqlite3_exec(to, "COMMIT", NULL, NULL, NULL));
    return now() - begin;
}

static void scan(const char *path, char **names, int count) {
    sqlite3 *db = database(path, SQLITE_OPEN_READONLY);
    long long sum = 0;
    for (int i = 0; i < count; i++) {
        char *select = sqlite3_mprintf("SELECT * FROM \"%w\"", names[i]);
        sqlite3_stmt *rows;
        check(db, sqlite3_prepare_v2(db, select, -1, &rows, NULL));
        while (sqlite3_step(rows) == SQLITE_ROW)
            for (int c = 0; c < sqlite3_column_count(rows); c++) sum += sqlite3_column_int64(rows, c);
        sqlite3_finalize(rows);
        sqlite3_free(select);
    }
    sqlite3_close(db);
    fprintf(stderr, "sum %lld\n", sum);
}

static void syncs(int count, const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char block[100];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < count; i++)
        if (write(file, block, sizeof block) < 0 || fdatasync(file) < 0) die(path);
    close(file);
}

static int stamps(int count, const char *directory, char **argv) {
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        setenv("OPS_ID", number, 1);
        struct timespec t;
        clock_gettime(CLOCK_BOOTTIME, &t);
        start(i, directory, argv);
        if (wait(NULL) < 0) die("wait");
        printf("%d %lld\n", i, t.tv_sec * 1000000000LL + t.tv_nsec);
    }
    return 0;
}

static int starts(const char *path) {
    sqlite3 *db = database(path, SQLITE_OPEN_READONLY);
    sqlite3_stmt *rows;
    check(db, sqlite3_prepare_v2(db, "SELECT operation, startedMonotonic FROM attempt", -1, &rows, NULL));
    while (sqlite3_step(rows) == SQLITE_ROW)
        printf("%lld %lld\n", sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 1));
    sqlite3_finalize(rows);
    sqlite3_close(db);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "starts") == 0) return starts(argv[2]);
    if (argc > 4 && strcmp(argv[1], "stamps") == 0) return stamps(atoi(argv[2]), argv[3], argv + 4);
    if (argc < 4) {
        fprintf(stderr, "usage: see the first lines of Benchmarks/Bare/main.c\n");
        return 2;
    }
    double begin = now();
    if (strcmp(argv[1], "insert") == 0) {
        printf("%.6f\n", insert_all(argv[2], argv[3]));
        return 0;
    }
    if (strcmp(argv[1], "spawn") == 0 && argc >= 5) spawn_all(atoi(argv[2]), atoi(argv[3]), argv[4], argv + 5);
    else if (strcmp(argv[1], "chain") == 0) spawn_all(atoi(argv[2]), 1, argv[3], argv + 4);
    else if (strcmp(argv[1], "commit") == 0) commits(atoi(argv[2]), argv[3]);
    else if (strcmp(argv[1], "scan") == 0) scan(argv[2], argv + 3, argc - 3);
    else if (strcmp(argv[1], "sync") == 0) syncs(atoi(argv[2]), argv[3]);
    else return 2;
    printf("%.6f\n", now() - begin);
    return 0;
}
