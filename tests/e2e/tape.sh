# The tape verbs, as a person uses them.
. "$(dirname "$0")/../lib/tap.sh"

header='{"type":"header","version":1,"started_at_unix_ms":1767225600000,"argv":["job"]}'
line() { # line SEQ KIND DATA [TIME_NS] [PROCESS]
    printf '{"data":%s,"kind":"%s","monotonic_ns":0,"phase":"user_script","process":"%s","seq":%s,"type":"record","virtual_time_ns":%s}\n' \
        "$3" "$2" "${5:-1}" "$1" "${4:-1767225600000000000}"
}
sample() { # sample FILE: five records by hand
    {
        echo "$header"
        line 0 clock_read '{"source":"wall","value_ns":1767225600000000000}'
        line 1 file_read '{"len_bytes":3,"path":"a.txt"}'
        line 2 clock_sleep '{"duration_ns":5000000000}'
        line 3 file_write '{"len_bytes":9,"path":"b.txt"}' 1767225605000000000 1.2
        line 4 process_exit '{"exit_code":0}' 1767225605000000000 1.2.1
    } >"$1"
}

test_that "show prints a line a record, and what the tape is of" '
    sample a.tape
    run "$VITRO" tape show a.tape
    status_is 0
    out_has "started 2026-01-01T00:00:00Z job"
    out_has "     3  00:00:05        1.2      file_write      b.txt  len_bytes=9"
    out_has "5 of 5 records, not closed"'

test_that "show filters by kind, process and time" '
    sample a.tape
    run "$VITRO" tape show a.tape --kind file_read --kind file_write; out_has "2 of 5"; out_lacks clock_read
    run "$VITRO" tape show a.tape --process 1.2; out_has "2 of 5"; out_lacks a.txt
    run "$VITRO" tape show a.tape --from 5s; out_has "2 of 5"
    run "$VITRO" tape show a.tape --until 2026-01-01T00:00:05Z; out_has "3 of 5"
    run "$VITRO" tape show a.tape --from soon; status_is 2; err_has "soon"'

test_that "show --json is one document in the native form, also of tapes in other forms" '
    need jq
    { echo "$header"
      echo "{\"type\":\"record\",\"seq\":0,\"virtual_time_ms\":1,\"kind\":{\"kind\":\"clock_sleep\",\"duration_ms\":2}}"; } >h.tape
    run "$VITRO" tape show h.tape --json
    status_is 0
    [ "$(jq -c ".records[0].data" "$RUN/out")" = "{\"duration_ns\":2000000}" ]
    [ "$(jq -c ".records[0].virtual_time_ns" "$RUN/out")" = 1000000 ]
    [ "$(jq -c ".torn_line" "$RUN/out")" = null ]'

test_that "a torn last line is dropped with a note" '
    sample a.tape
    head -c -20 a.tape >torn.tape
    run "$VITRO" tape show torn.tape
    status_is 0; out_has "note: line 6 is torn and was dropped"; out_has "4 of 4 records"
    run "$VITRO" tape verify torn.tape
    status_is 1; out_has "torn.tape:6: torn: "'

test_that "one inserted record is exactly one divergence" '
    sample a.tape
    { head -n 3 a.tape; line 2 note "{\"text\":\"new\"}"; tail -n 3 a.tape; } >b.tape
    run "$VITRO" tape diff a.tape b.tape
    status_is 1
    out_has "first cause at 00:00:00, process 1, record 2: missing_in_recorded"
    out_has "byte: 1 divergence, score 0.8333, 5 recorded and 6 replayed records"
    run "$VITRO" tape diff a.tape b.tape --ignore note
    status_is 0; out_has "0 divergences"
    run "$VITRO" tape diff a.tape a.tape
    status_is 0; out_has "score 1.0000"'

test_that "fidelity reads modes by all their names and reports as JSON" '
    need jq
    sample a.tape
    sed "s/\"len_bytes\":9/\"len_bytes\":8/" a.tape >b.tape
    run "$VITRO" fidelity a.tape b.tape; status_is 1; out_has file_write_len
    out_has "rule  --ignore '"'"'file_write[b.txt].len_bytes'"'"'"
    run "$VITRO" fidelity a.tape b.tape --mode semantic; status_is 0
    run "$VITRO" fidelity a.tape b.tape --mode byte-user-semantic-runtime --json; status_is 1
    [ "$(jq -r .first_cause.rule "$RUN/out")" = "file_write[b.txt].len_bytes" ]
    [ "$(jq -r .divergence_count "$RUN/out")" = 1 ]
    echo "file_write.len_bytes" >rules
    run "$VITRO" fidelity a.tape b.tape --rules rules; status_is 0
    run "$VITRO" fidelity a.tape b.tape --mode exact; status_is 2; err_has "hint: byte (byte-identical), semantic"'

test_that "verify checks order, hashes, contents and the end line" '
    "$TOP/$O/examples/tape_write" a.tape
    run "$VITRO" tape verify a.tape --complete --secrets; status_is 0; out_has "5 records, 0 contents read, 0 findings"
    sed "s/\"seq\":3/\"seq\":7/" a.tape >b.tape
    run "$VITRO" tape verify b.tape; status_is 1; out_has "seq: seq is 7 where 3 is due"; out_has "digest: "
    sed "\$d" a.tape >open.tape
    run "$VITRO" tape verify open.tape; status_is 0; out_has "note: there is no end line"
    run "$VITRO" tape verify open.tape --complete; status_is 1
    hash=$(printf hello | sha256sum | cut -d" " -f1)
    { echo "$header"; line 0 term_output "{\"payload\":{\"content_hash\":\"$hash\",\"text\":\"hellp\"}}"
      line 1 term_output "{\"payload\":{\"content_hash\":\"$hash\",\"len_bytes\":5}}"; } >p.tape
    run "$VITRO" tape verify p.tape; status_is 1
    out_has "p.tape:2: payload_hash: "; out_has "p.tape:3: content_missing: content $hash is not in"
    mkdir p.tape.cas; printf hello >p.tape.cas/$hash
    run "$VITRO" tape verify p.tape; out_has "1 contents read, 1 finding"
    printf help! >p.tape.cas/$hash
    run "$VITRO" tape verify p.tape; out_has "content_damaged"
    run "$VITRO" tape show p.tape; status_is 0'

test_that "a tape of harn is read in its own form, and its BLAKE3 names are not taken for ours" '
    { echo "{\"type\":\"header\",\"version\":1,\"harn_version\":\"0.8\",\"started_at_unix_ms\":null,\"script_path\":null,\"argv\":[]}"
      echo "{\"type\":\"record\",\"seq\":0,\"virtual_time_ms\":0,\"monotonic_ms\":0,\"kind\":{\"kind\":\"process_spawn\",\"program\":\"git\",\"args\":[],\"cwd\":null,\"exit_code\":0,\"duration_ms\":3,\"stdout_payload\":{\"content_hash\":\"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\",\"text\":\"\"}}}"
      echo "{\"type\":\"record\",\"seq\":1,\"phase\":\"runtime_finalize\",\"virtual_time_ms\":0,\"monotonic_ms\":0,\"kind\":{\"kind\":\"file_delete\",\"path\":\"x\"}}"; } >h.tape
    run "$VITRO" tape show h.tape; status_is 0; out_has "process_spawn   git  args=[]  exit_code=0  duration=00:00:00.003"; out_has "(runtime_finalize)"
    run "$VITRO" tape verify h.tape; status_is 0; out_has "note: written by harn"
    run "$VITRO" tape diff h.tape h.tape; status_is 0'

test_that "verify --secrets finds what another tool let through" '
    { echo "$header"; line 0 env_read "{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}"
      line 1 note "{\"text\":\"use AKIAIOSFODNN7EXAMPLE\"}"; } >s.tape
    run "$VITRO" tape verify s.tape; status_is 0
    run "$VITRO" tape verify s.tape --secrets; status_is 1
    out_has "s.tape:2: secret: env_read.value looks like a secret (name)"
    out_has "s.tape:3: secret: note.text looks like a secret (aws)"
    out_lacks hunter2'

test_that "an exported tape is a plain tar.zst and comes back the same" '
    need zstd
    "$TOP/$O/examples/tape_write" a.tape
    hash=$(printf hello | sha256sum | cut -d" " -f1)
    mkdir a.tape.cas; printf hello >a.tape.cas/$hash
    run "$VITRO" tape export a.tape a.tar.zst; status_is 0
    [ "$(zstd -dc a.tar.zst | tar -tf - | tr "\n" " ")" = "manifest.json tape tape.cas/ tape.cas/$hash " ]
    run "$VITRO" tape export a.tape a.tar.zst; status_is 2; err_has "there is a file already"
    "$VITRO" tape export a.tape again.tar.zst; same a.tar.zst again.tar.zst
    run "$VITRO" tape import a.tar.zst copy; status_is 0
    same a.tape copy/tape; same a.tape.cas/$hash copy/tape.cas/$hash
    run "$VITRO" tape diff a.tape copy; status_is 0
    run "$VITRO" tape import a.tar.zst copy; status_is 2
    "$VITRO" tape export copy third.tar.zst; same a.tar.zst third.tar.zst'

test_that "archives that are cut, damaged, too large or lead elsewhere leave nothing behind" '
    need zstd
    "$TOP/$O/examples/tape_write" a.tape
    "$VITRO" tape export a.tape a.tar.zst
    head -c 300 a.tar.zst >cut.tar.zst
    run "$VITRO" tape import cut.tar.zst x; status_is 2; err_has "cut.tar.zst"
    run "$VITRO" tape import a.tar.zst x --size-limit 100; status_is 2; err_has "more than 100 bytes"; err_has "hint: --size-limit"
    mkdir evil; echo "{}" >evil/manifest.json; ln -s /etc/passwd evil/link
    tar -cf - -C evil . | zstd -q >dot.tar.zst
    run "$VITRO" tape import dot.tar.zst x; status_is 2; err_has "leads elsewhere"
    tar -cf - -P --transform "s,^,../,;" -C evil manifest.json | zstd -q >up.tar.zst
    run "$VITRO" tape import up.tar.zst x; status_is 2; err_has "leads elsewhere"
    tar -cf - -C evil link | zstd -q >link.tar.zst
    run "$VITRO" tape import link.tar.zst x; status_is 2; err_has "neither file nor directory"
    echo no >no.tar.zst
    run "$VITRO" tape import no.tar.zst x; status_is 2
    [ ! -e x ]; ! ls -d x.* 2>/dev/null'

test_that "annotations are added, listed, checked and exported" '
    need jq
    sample a.tape
    run "$VITRO" tape annotate add a.tape 3 --kind incorrect --evidence "wrong file" --until 4 --author me --link http://x
    status_is 0; out_has "annotation a1 added to record 3"
    run "$VITRO" tape annotate add a.tape 1 --kind hypothesis --status active --json; status_is 0
    [ "$(jq -r .id "$RUN/out")" = a2 ]
    run "$VITRO" tape annotate add a.tape 9 --kind note; status_is 2; err_has unknown_event_id
    run "$VITRO" tape annotate add a.tape 1 --kind friction; status_is 2; err_has friction_kind_missing
    run "$VITRO" tape annotate list a.tape; out_has "wrong file"; out_has "2 annotations"
    run "$VITRO" tape annotate validate a.tape; status_is 0
    run "$VITRO" tape annotate export a.tape; out_has "## Record 3"; out_has "- **a1** incorrect"
    run "$VITRO" tape annotate export a.tape --json; [ "$(jq ".annotations | length" "$RUN/out")" = 2 ]
    line 5 note "{}" >>a.tape
    run "$VITRO" tape annotate validate a.tape; status_is 1; out_has tape_digest_mismatch'

test_that "gc removes what no record speaks of" '
    sample a.tape
    mkdir a.tape.cas; printf x >a.tape.cas/$(printf x | sha256sum | cut -d" " -f1)
    run "$VITRO" tape gc a.tape --dry-run; status_is 0; out_has "1 would go (1 bytes)"
    run "$VITRO" tape gc a.tape; out_has "1 removed"
    [ -z "$(ls a.tape.cas)" ]'

test_that "a mistyped verb of three words is answered with the closest" '
    run "$VITRO" tape annotate lst x; status_is 2; err_has "did you mean '"'"'vitro tape annotate list'"'"'?"
    run "$VITRO" tape; status_is 2; out_has "vitro tape annotate add"
    run "$VITRO" tape annotate --help; status_is 0; out_has "vitro tape annotate validate"; out_lacks "tape show"
    run "$VITRO" help tape annotate add; status_is 0; out_has "usage: vitro tape annotate add [options] TAPE SEQ"'

test_that "equal runs write equal tapes" '
    "$TOP/$O/examples/tape_write" a.tape
    "$TOP/$O/examples/tape_write" b.tape
    same a.tape b.tape'
tap_done
