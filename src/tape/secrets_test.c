/* SPDX-License-Identifier: MIT */
#include "tape/secrets.h"
#include "base/hash.h"
#include "base/json.h"
#include "lib/check.h"
#include "tape/secrets_shapes.h"
#include "tape/tape.h"
#include <errno.h>

static struct secrets *rules(const struct secrets_options *options)
{
    struct secrets *secrets = NULL;
    struct err err = {0};

    CHECK_OK(secrets_new(options, &secrets, &err), err);
    return secrets;
}

static char *scrub(const struct secrets *secrets, const char *kind, const char *data)
{
    struct buf text = {0};

    if (!secrets_scrub_data(secrets, kind, data, strlen(data), &text))
        buf_adds(&text, data);
    CHECK_TRUE(!secrets_find_data(secrets, kind, text.data, text.length, NULL));
    return buf_take(&text);
}

TEST(tokens_are_hidden_by_their_shape_wherever_they_stand)
{
    static const char *const tokens[] = {
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-abcdefghijklmnopqrstuvwxyz0123456789",
        "glpat-ABCDEFGHIJKLMNOPQRST",
        "xoxb-1234567890-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN",
        "npm_0123456789abcdefghijklmnopqrstuvwxyz",
    };
    CLEANUP(secrets_free) struct secrets *secrets = rules(NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(tokens); i++) {
        CLEANUP(mem_free) char *data = mem_format("{\"args\":[\"-H\",\"x: %s y\"]}", tokens[i]);
        CLEANUP(mem_free) char *hidden = scrub(secrets, "process_spawn", data);
        CHECK_TRUE(!strstr(hidden, tokens[i]));
        CHECK_HAS(hidden, "x: <secret:");
        CHECK_HAS(hidden, " y\"");
        CHECK_TRUE(secrets_find_bytes(secrets, tokens[i], strlen(tokens[i])) != NULL);
    }
}

TEST(a_private_key_is_hidden_to_its_last_line)
{
    static const char text[] = "before\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n"
                               "-----END RSA PRIVATE KEY-----\nafter\n";
    CLEANUP(secrets_free) struct secrets *secrets = rules(NULL);
    CLEANUP(buf_done) struct buf out = {0};

    CHECK_TRUE(secrets_scrub_bytes(secrets, text, strlen(text), &out));
    CHECK_TRUE(!strstr(out.data, "MIIEow"));
    CHECK_HAS(out.data, "before\n<secret:private-key:");
    CHECK_HAS(out.data, ">\nafter\n");
    static const char certificate[] = "-----BEGIN CERTIFICATE-----\nMIIEow\n";
    CHECK_TRUE(!secrets_find_bytes(secrets, certificate, strlen(certificate)));
}

TEST(what_stands_under_the_name_of_a_secret_is_hidden)
{
    static const char *const payloads[] = {
        "{\"name\":\"API_TOKEN\",\"value\":\"hunter2\"}",
        "{\"env\":{\"AWS_SECRET_ACCESS_KEY\":\"hunter2\"}}",
        "{\"env\":[\"HOME=/root\",\"DB_PASSWORD=hunter2\"]}",
        "{\"headers\":{\"authorization\":\"hunter2\"}}",
        "{\"apiKey\":[\"hunter2\"]}",
        "{\"userPassword\":{\"now\":\"hunter2\"}}",
    };
    CLEANUP(secrets_free) struct secrets *secrets = rules(NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(payloads); i++) {
        CLEANUP(mem_free) char *hidden = scrub(secrets, "env_read", payloads[i]);
        if (strstr(hidden, "hunter2"))
            check_fail(__FILE__, __LINE__, "%s is still there", hidden);
        CHECK_HAS(hidden, "<secret:name:");
    }
}

/* What a program wrote is no NAME=value, however it begins: it would be lost as a whole. */
TEST(texts_of_payloads_keep_all_but_tokens_and_their_hashes_are_those_of_what_is_left)
{
    static const char token[] = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    static const char *const texts[] = {"Enter your password\na=b\n", "TOKEN=\nA=b\n",
                                        "PASSWORD=x\nmore\n"};
    CLEANUP(secrets_free) struct secrets *secrets = rules(NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(json_free)
        json_t *object =
            json_pack("{s:{s:s, s:s}}", "stdout_payload", "content_hash", "0", "text", texts[i]);
        CLEANUP(buf_done) struct buf data = {0};
        json_add_canonical(&data, object);
        CLEANUP(mem_free) char *same = scrub(secrets, "subprocess", buf_text(&data));
        CHECK_TEXT(same, buf_text(&data));
    }
    CLEANUP(buf_done) struct buf data = {0}, left = {0};
    buf_addf(&data,
             "{\"stdout_payload\":{\"content_hash\":\"0\",\"text\":\"A_TOKEN=%s\\nB=c\\n\"}}",
             token);
    CHECK_TRUE(secrets_scrub_data(secrets, "subprocess", data.data, data.length, &left));
    CLEANUP(json_free) json_t *object = NULL;
    struct err err = {0};
    CHECK_OK(json_parse(left.data, left.length, "left", &object, &err), err);
    const json_t *payload = json_object_get(object, "stdout_payload");
    const char *text = json_string_value(json_object_get(payload, "text"));
    CHECK_HAS(text, "A_TOKEN=<secret:github:");
    CHECK_HAS(text, ">\nB=c\n");
    struct hash hash = hash_of(text, strlen(text));
    CHECK_TEXT(json_string_value(json_object_get(payload, "content_hash")),
               hash_to_text(&hash).text);
    CHECK_TRUE(!secrets_find_data(secrets, "subprocess", left.data, left.length, NULL));
}

TEST(ordinary_words_are_left_alone)
{
    static const char *const payloads[] = {
        "{\"max_tokens\":4096,\"path\":\"src/passing/task-abcdefghijklmnopqrstuvwxyz.c\"}",
        "{\"key\":\"value\",\"sort_key\":\"name\",\"path\":\"secret.txt\"}",
        "{\"text\":\"the token is short: sk-1\",\"name\":\"PATH\",\"value\":\"/bin\"}",
        "{\"content_hash\":\"a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89\"}",
    };
    CLEANUP(secrets_free) struct secrets *secrets = rules(NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(payloads); i++) {
        CLEANUP(mem_free) char *same = scrub(secrets, "note", payloads[i]);
        CHECK_TEXT(same, payloads[i]);
    }
}

TEST(equal_secrets_stay_equal_and_another_key_changes_them)
{
    CLEANUP(secrets_free) struct secrets *one = rules(NULL);
    CLEANUP(secrets_free)
    struct secrets *other = rules(&(struct secrets_options){.key = "our own"});
    static const char data[] = "{\"a_token\":\"hunter2\",\"b_token\":\"hunter2\"}";
    CLEANUP(mem_free) char *first = scrub(one, "note", data);
    CLEANUP(mem_free) char *again = scrub(one, "note", data);
    CLEANUP(mem_free) char *keyed = scrub(other, "note", data);
    const char *a = strstr(first, "<secret"), *b = strstr(a + 1, "<secret");

    CHECK_TEXT(first, again);
    CHECK_INT(strncmp(a, b, strlen("<secret:name:00000000>")), 0);
    CHECK_TRUE(strcmp(first, keyed) != 0);
}

/* Wherever it stands, and by the same text as under its name; not what may stand for other things.
 */
TEST(values_of_variables_with_the_name_of_a_secret_are_hidden)
{
    static const char *const environment[] = {"API_KEY=zx81-spectrum",
                                              "API_KEY_OLD=zx81-spectrum-48k",
                                              "DB_PASSWORD=postgres",
                                              "A_SECRET=only-letters-but-long",
                                              "PIN_TOKEN=1234",
                                              "THE_TOKEN=",
                                              "CLOUD_CREDENTIALS=/etc/cloud/credentials1",
                                              "HOME=zx80-is-no-secret",
                                              "NOTHING",
                                              NULL};
    CLEANUP(secrets_free)
    struct secrets *secrets = rules(&(struct secrets_options){.environment = environment});
    static const struct {
        const char *text;
        int hidden;
    } texts[] = {{"curl -u me:zx81-spectrum http://x", 1},
                 {"xzx81-spectrumx", 1},
                 {"only-letters-but-long", 1},
                 {"postgres and 1234", 0},
                 {"/etc/cloud/credentials1", 0},
                 {"zx80-is-no-secret", 0},
                 {"zx81-spectru", 0}};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(buf_done) struct buf left = {0};
        CHECK_INT(secrets_scrub_bytes(secrets, texts[i].text, strlen(texts[i].text), &left),
                  texts[i].hidden);
    }
    CLEANUP(buf_done) struct buf longest = {0}, alone = {0};
    CHECK_TRUE(secrets_scrub_bytes(secrets, "zx81-spectrum-48k", 17, &longest));
    CHECK_TRUE(longest.data[longest.length - 1] == '>');
    CHECK_TRUE(secrets_scrub_bytes(secrets, "zx81-spectrum", 13, &alone));
    CLEANUP(mem_free) char *named = scrub(secrets, "run", "{\"API_KEY\":\"zx81-spectrum\"}");
    CHECK_HAS(named, buf_text(&alone));
}

TEST(fields_and_literal_values_are_hidden_as_told)
{
    const char *const fields[] = {"http_exchange.headers.x-trace", "*.note", NULL};
    const char *const literals[] = {"correct \"horse\"", NULL};
    CLEANUP(secrets_free)
    struct secrets *secrets =
        rules(&(struct secrets_options){.fields = fields, .literals = literals});
    CLEANUP(mem_free)
    char *field = scrub(secrets, "http_exchange", "{\"headers\":{\"x-trace\":\"q\",\"y\":\"z\"}}");
    CLEANUP(mem_free) char *any = scrub(secrets, "leak", "{\"note\":\"q\",\"other\":\"q\"}");
    CLEANUP(mem_free)
    char *literal = scrub(secrets, "leak", "{\"text\":\"say correct \\\"horse\\\" now\"}");
    CLEANUP(mem_free) char *other = scrub(secrets, "net_connect", "{\"headers\":{\"x-trace\":1}}");

    CHECK_HAS(field, "{\"headers\":{\"x-trace\":\"<secret:field:");
    CHECK_HAS(field, "\"y\":\"z\"");
    CHECK_HAS(any, "{\"note\":\"<secret:field:");
    CHECK_HAS(any, "\"other\":\"q\"");
    CHECK_HAS(literal, "say <secret:value:");
    CHECK_HAS(literal, "> now");
    CHECK_HAS(other, "\"x-trace\":1");
    struct secrets *none = NULL;
    struct err err = {0};
    const char *const bad[] = {"value", NULL}, *const shorts[] = {"abc", NULL};
    CHECK_INT(secrets_new(&(struct secrets_options){.fields = bad}, &none, &err), -EINVAL);
    CHECK_HAS(err.text, "secret field 'value': not KIND.member\nhint: ");
    CHECK_INT(secrets_new(&(struct secrets_options){.literals = shorts}, &none, &err), -EINVAL);
    CHECK_TRUE(!strstr(err.text, "abc")); /* an error is no place for a secret */
}

TEST(no_secret_reaches_the_tape_or_its_store)
{
    const char *path = tmp_path("s.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(tape_data_done) struct tape_data data = {0};
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(mem_free) char *large = mem_alloc(6000);
    static const char token[] = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    const char *argv[] = {"prog", "--with", token, NULL};
    struct err err = {0};
    struct hash hash;

    memset(large, '.', 5999);
    memcpy(large + 3000, token, sizeof token - 1);
    large[2999] = ' ';
    CHECK_OK(
        tape_writer_open(&(struct tape_writer_options){.path = path, .argv = argv}, &writer, &err),
        err);
    tape_data_begin(&data);
    CHECK_OK(tape_data_payload(&data, writer, "stderr", token, sizeof token - 1, &err), err);
    CHECK_OK(tape_data_payload(&data, writer, "stdout", large, 5999, &err), err);
    tape_data_end(&data);
    CHECK_TRUE(!strstr(data.text.data, token));
    CHECK_OK(tape_writer_put(writer, large, 5999, &hash, &err), err);
    CHECK_HAS(data.text.data, hash_to_text(&hash).text); /* the same bytes, hidden the same way */
    CHECK_OK(tape_writer_record(writer,
                                &(struct tape_record){.kind = TAPE_PROCESS_SPAWN,
                                                      .data = data.text.data,
                                                      .data_length = data.text.length},
                                &err),
             err);
    CHECK_OK(tape_writer_close(writer, &err), err);
    CHECK_OK(file_read(path, 1 << 16, &text, &err), err);
    CHECK_TRUE(!strstr(text.data, token));
    CHECK_HAS(text.data, "<secret:github:");
    CLEANUP(mem_free) char *cas = store_path_of(path);
    CLEANUP(store_free) struct store *store = NULL;
    CLEANUP(buf_done) struct buf stored = {0};
    CHECK_OK(store_open(&(struct store_options){.path = cas}, &store, &err), err);
    CHECK_OK(store_get(store, &hash, 0, &stored, &err), err);
    CHECK_TRUE(!strstr(stored.data, token));
}
