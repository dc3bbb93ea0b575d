/* SPDX-License-Identifier: MIT */
/* Event logs in an SQLite database (docs/formats/eventlog.md), for whoever wants to ask questions
 * of one later. The library is loaded when a log is opened and is no dependency otherwise
 * (docs/decisions/0083). Everything is in memory as well: the database is read once. */
#include "host/eventlog.h"
#include <dlfcn.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

enum { APPLICATION = 0x76744576 /* "vtEv" */, VERSION = 1, PAGE_BYTES = 4096 };

/* What is used of the library, by name. */
#define FUNCTIONS(f)                                                                               \
    f(open_v2) f(close) f(exec) f(prepare_v2) f(step) f(reset) f(finalize) f(errmsg)               \
        f(system_errno) f(bind_text) f(bind_blob) f(bind_int64) f(column_int64) f(column_text)     \
            f(column_blob) f(column_bytes)

struct database {
    void *library;
#define MEMBER(name) __typeof__(sqlite3_##name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    sqlite3 *db;
    sqlite3_stmt *add, *ack;
    char *path; /* owned */
};

/* ---- the library */

static int library_load(struct database *base, struct err *err)
{
    static const char file[] = "libsqlite3.so.0";

    base->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!base->library) {
        (void)err_set(err, -ENOPKG, "open event log '%s': %s cannot be loaded", base->path, file);
        return err_hint(err, "on Debian it is in the package libsqlite3-0");
    }
#define LOAD(name)                                                                                 \
    *(void **)&base->name = dlsym(base->library, "sqlite3_" #name);                                \
    if (!base->name)                                                                               \
        return err_set(err, -ENOPKG, "open event log '%s': %s has no sqlite3_" #name, base->path,  \
                       file);
    FUNCTIONS(LOAD)
#undef LOAD
    return 0;
}

static int failed(const struct database *base, const char *what, int code, struct err *err)
{
    int system = base->db ? base->system_errno(base->db) : 0;
    const char *words = base->db ? base->errmsg(base->db) : "out of memory";

    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, -EBUSY, "%s event log '%s': it is open elsewhere", what, base->path);
    case SQLITE_NOTADB:
        return err_set(err, -EBADMSG, "%s '%s': not an event log: %s", what, base->path, words);
    case SQLITE_CORRUPT:
        return err_set(err, -EBADMSG, "%s event log '%s': %s", what, base->path, words);
    case SQLITE_FULL:
        return err_set(err, -ENOSPC, "%s event log '%s': %s", what, base->path, words);
    case SQLITE_READONLY:
        return err_set(err, -EROFS, "%s event log '%s': %s", what, base->path, words);
    default:
        return err_set(err, system > 0 ? -system : -EIO, "%s event log '%s': %s%s%s", what,
                       base->path, words, system > 0 ? ": " : "",
                       system > 0 ? strerror(system) : "");
    }
}

static int execute(const struct database *base, const char *what, const char *sql, struct err *err)
{
    int code = base->exec(base->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : failed(base, what, code, err);
}

/* ---- writing */

static int run(const struct database *base, sqlite3_stmt *statement, const char *what,
               struct err *err)
{
    int code = base->step(statement);
    int r = code == SQLITE_DONE ? 0 : failed(base, what, code, err);

    (void)base->reset(statement);
    return r;
}

static int write_record(vitro_eventlog *log, const struct record *record, struct err *err)
{
    const struct database *base = log->stored;
    sqlite3_stmt *statement = record->type == RECORD_EVENT ? base->add : base->ack;

    (void)base->bind_text(statement, 1, record->topic, -1, SQLITE_STATIC);
    (void)base->bind_text(statement, 2, record->name, -1, SQLITE_STATIC);
    (void)base->bind_int64(statement, 3, (sqlite3_int64)record->id);
    if (record->type == RECORD_EVENT)
        (void)base->bind_blob(statement, 4, record->length ? record->data : "", (int)record->length,
                              SQLITE_STATIC);
    return run(base, statement, "write", err);
}

static int step_for(const struct database *base, const char *sql, const struct topic *topic,
                    struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int code = base->prepare_v2(base->db, sql, -1, &statement, NULL);

    if (code != SQLITE_OK)
        return failed(base, "compact", code, err);
    (void)base->bind_text(statement, 1, topic->name, -1, SQLITE_STATIC);
    (void)base->bind_int64(statement, 2, (sqlite3_int64)topic->first_id);
    int r = run(base, statement, "compact", err);
    (void)base->finalize(statement);
    return r;
}

static int compact(vitro_eventlog *log, const struct topic *topic, struct err *err)
{
    const struct database *base = log->stored;
    int r = execute(base, "compact", "BEGIN", err);

    if (r < 0)
        return r;
    if ((r = step_for(base, "INSERT OR REPLACE INTO starts (topic, id) VALUES (?1, ?2)", topic,
                      err)) < 0 ||
        (r = step_for(base, "DELETE FROM events WHERE topic = ?1 AND id < ?2", topic, err)) < 0 ||
        (r = execute(base, "compact", "COMMIT", err)) < 0)
        (void)base->exec(base->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

static void close_database(vitro_eventlog *log)
{
    struct database *base = log->stored;

    if (base->db) {
        (void)base->finalize(base->add);
        (void)base->finalize(base->ack);
        (void)base->close(base->db);
    }
    if (base->library)
        (void)dlclose(base->library);
    free(base->path);
    free(base);
}

static const struct store_ops ops = {
    .write = write_record, .compact = compact, .close = close_database};

/* ---- reading */

static int ask(const struct database *base, const char *sql, struct buf *ret, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int code = base->prepare_v2(base->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = base->step(statement);
    if (code == SQLITE_ROW) {
        const unsigned char *text = base->column_text(statement, 0);
        buf_clear(ret);
        buf_adds(ret, text ? (const char *)text : "");
    }
    int r = code == SQLITE_ROW ? 0 : failed(base, "read", code, err);
    (void)base->finalize(statement);
    return r;
}

/* A text of 1 to 255 bytes without a NUL; NULL: it is none. */
static const char *name_of(const struct database *base, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)base->column_text(statement, column);
    int length = base->column_bytes(statement, column);

    return text && length > 0 && length <= NAME_MAX_BYTES && strlen(text) == (size_t)length ? text
                                                                                            : NULL;
}

/* Columns: topic, id, and name and data where there are. */
static int load(vitro_eventlog *log, enum record_type type, const char *sql, struct err *err)
{
    const struct database *base = log->stored;
    sqlite3_stmt *statement = NULL;
    int code = base->prepare_v2(base->db, sql, -1, &statement, NULL);
    const char *wrong = NULL;
    struct record record = {.type = type};

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        if ((code = base->step(statement)) != SQLITE_ROW)
            break;
        record.topic = name_of(base, statement, 0);
        record.id = (uint64_t)base->column_int64(statement, 1);
        record.name = type == RECORD_START ? "" : name_of(base, statement, 2);
        record.data = type == RECORD_EVENT ? base->column_blob(statement, 3) : NULL;
        record.length = type == RECORD_EVENT ? (size_t)base->column_bytes(statement, 3) : 0;
        if (!record.topic || !record.name || record.length > DATA_MAX_BYTES ||
            eventlog_topic_check(record.topic, NULL) < 0)
            wrong = "a row that makes no sense";
        else
            wrong = eventlog_apply(log, &record);
        if (wrong)
            break;
    }
    int r = wrong
                ? err_set(err, -EBADMSG, "read event log '%s': %s, %llu of topic '%s'", base->path,
                          wrong, (unsigned long long)record.id, record.topic ? record.topic : "")
            : code == SQLITE_DONE ? 0
                                  : failed(base, "read", code, err);
    (void)base->finalize(statement);
    return r;
}

static const char schema[] =
    "BEGIN;"
    "CREATE TABLE events (topic TEXT NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL,"
    " data BLOB NOT NULL, PRIMARY KEY (topic, id)) WITHOUT ROWID;"
    "CREATE TABLE acks (topic TEXT NOT NULL, consumer TEXT NOT NULL, id INTEGER NOT NULL,"
    " PRIMARY KEY (topic, consumer)) WITHOUT ROWID;"
    "CREATE TABLE starts (topic TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;"
    "PRAGMA application_id = 0x76744576;"
    "PRAGMA user_version = 1;"
    "COMMIT";

/* Ours, new, or somebody else's. */
static int recognise(const struct database *base, struct err *err)
{
    CLEANUP(buf_done) struct buf application = {0}, version = {0}, tables = {0}, check = {0};
    int r;

    if ((r = ask(base, "PRAGMA application_id", &application, err)) < 0 ||
        (r = ask(base, "PRAGMA user_version", &version, err)) < 0 ||
        (r = ask(base, "SELECT count(*) FROM sqlite_master", &tables, err)) < 0)
        return r;
    if (strcmp(buf_text(&tables), "0") == 0)
        return execute(base, "make", schema, err);
    if (atoi(buf_text(&application)) != APPLICATION || atoi(buf_text(&version)) != VERSION)
        return err_set(err, -EBADMSG, "read '%s': not an event log of version %d", base->path,
                       VERSION);
    if ((r = ask(base, "PRAGMA quick_check(1)", &check, err)) < 0)
        return r;
    return strcmp(buf_text(&check), "ok") == 0
               ? 0
               : err_set(err, -EBADMSG, "read event log '%s': %s", base->path, buf_text(&check));
}

static int prepare(struct database *base, struct err *err)
{
    int code =
        base->prepare_v2(base->db, "INSERT INTO events (topic, kind, id, data) VALUES (?, ?, ?, ?)",
                         -1, &base->add, NULL);

    if (code == SQLITE_OK)
        code = base->prepare_v2(
            base->db, "INSERT OR REPLACE INTO acks (topic, consumer, id) VALUES (?, ?, ?)", -1,
            &base->ack, NULL);
    return code == SQLITE_OK ? 0 : failed(base, "open", code, err);
}

/* SQLite takes a file that is too short to be one for none at all, and what is missing of the last
 * page for zeros. With a journal beside it that is how it should be. By stat(2): closing a file
 * that was opened to look would let go the locks that another log of this process has on it. */
static bool is_cut(const char *path)
{
    CLEANUP(mem_free) char *journal = mem_format("%s-wal", path);
    struct stat status, beside;

    return stat(path, &status) == 0 && status.st_size % PAGE_BYTES != 0 &&
           (stat(journal, &beside) < 0 || beside.st_size == 0);
}

static int open_database(vitro_eventlog *log, struct database *base, bool sync, struct err *err)
{
    int r = library_load(base, err);

    if (r < 0)
        return r;
    if (is_cut(base->path))
        return err_set(err, -EBADMSG, "read '%s': not an event log, or cut short", base->path);
    int code = base->open_v2(base->path, &base->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             NULL);
    if (code != SQLITE_OK)
        return failed(base, "open", code, err);
    /* Nothing is written before it is known to be ours. */
    if ((r = execute(base, "open",
                     "PRAGMA page_size = 4096; PRAGMA locking_mode = EXCLUSIVE;"
                     "BEGIN IMMEDIATE; COMMIT",
                     err)) < 0 ||
        (r = recognise(base, err)) < 0 ||
        (r = execute(base, "open",
                     sync ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"
                          : "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF",
                     err)) < 0 ||
        (r = load(log, RECORD_START, "SELECT topic, id FROM starts", err)) < 0 ||
        (r = load(log, RECORD_EVENT, "SELECT topic, id, kind, data FROM events ORDER BY topic, id",
                  err)) < 0 ||
        (r = load(log, RECORD_ACK, "SELECT topic, id, consumer FROM acks", err)) < 0)
        return r;
    return prepare(base, err);
}

vitro_eventlog *vitro_eventlog_open_sqlite(const char *path,
                                           const struct vitro_eventlog_options *options,
                                           struct vitro_event_error *error)
{
    if (!path || !*path) {
        (void)err_set(event_err(error), -EINVAL, "open an event log: no path");
        return NULL;
    }
    vitro_eventlog *log = vitro_eventlog_memory();
    struct database *base = mem_alloc(sizeof *base);
    base->path = mem_format("%s%s", *path == ':' ? "./" : "", path); /* ":memory:" is a file here */
    log->store = &ops;
    log->stored = base;
    if (open_database(log, base, options && options->sync, event_err(error)) == 0)
        return log;
    vitro_eventlog_free(log);
    return NULL;
}
