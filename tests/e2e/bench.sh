# Benches from outside: with the shared libraries linked, preloaded, or not there at all.
set -u
. "$(dirname "$0")/../lib/tap.sh"
case $O in *san*) echo "shared libraries are tried without sanitizers"; exit 77 ;; esac
made=$tap_dir/made
mkdir -p "$made/lib"
cat >"$made/ask.c" <<'END'
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "vitro/bench.h"
int main(void)
{
    struct vitro_bench_error error;
    struct vitro_bench_options options = {.clock = "2026-01-01T00:00:00Z"};
    vitro_bench *bench = vitro_bench_activate(&options, &error);
    if (!bench)
        return puts(error.text), 1;
    if (vitro_interposed())
        sleep(3600);
    else
        vitro_clock_sleep(NULL, 3600 * 1000000000LL);
    printf("%d %d %lld\n", vitro_interposed(), time(NULL) == 1767225600 + 3600,
           (long long)vitro_clock_now(NULL) / 1000000000 - 1767225600);
    return vitro_bench_finalize(bench, NULL, &error) == 0 ? 0 : (puts(error.text), 1);
}
END
cat >"$made/loop.c" <<'END'
#include <stdio.h>
#include <time.h>
#include <uv.h>
#include "vitro/bench.h"
static void nap(uv_work_t *work) { uv_sleep((unsigned)(unsigned long)work->data); }
static void napped(uv_work_t *work, int status)
{
    printf("%lu %d %ld\n", (unsigned long)work->data, status, (long)time(NULL) - 1767225600);
}
static void tick(uv_timer_t *timer)
{
    printf("tick %ld\n", (long)time(NULL) - 1767225600);
    if (time(NULL) >= 1767225600 + 7200)
        uv_close((uv_handle_t *)timer, NULL);
}
int main(void)
{
    struct vitro_bench_error error;
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z"}), &error);
    uv_work_t work[2] = {{.data = (void *)5400000}, {.data = (void *)600000}};
    uv_timer_t timer;
    if (!bench)
        return puts(error.text), 1;
    for (int i = 0; i < 2; i++)
        uv_queue_work(uv_default_loop(), &work[i], nap, napped);
    uv_timer_init(uv_default_loop(), &timer);
    uv_timer_start(&timer, tick, 3600000, 3600000);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return vitro_bench_finalize(bench, NULL, &error) == 0 ? 0 : (puts(error.text), 1);
}
END
for lib in libvitro libvitro_interpose; do
    cp "$TOP/$O/$lib.so" "$made/lib/$lib.so.0"
    ln -s "$lib.so.0" "$made/lib/$lib.so"
done
preload=$made/lib/libvitro_interpose.so
build() { # build PROGRAM LIBRARY...
    cc -std=gnu17 -Wall -Werror -I"$TOP/include" -o "$1" "$made/ask.c" -L"$made/lib" -Wl,--no-as-needed "${@:2}" -lvitro \
        -Wl,-rpath,"$made/lib"
}

test_that "linked before libvitro, libc obeys" '
    build linked -lvitro_interpose
    [ "$(./linked)" = "1 1 3600" ]'

test_that "preloaded, it obeys as well" '
    build plain
    [ "$(LD_PRELOAD=$preload ./plain)" = "1 1 3600" ]'

test_that "libuv, its timers and its own threads obey, unchanged" '
    cc -std=gnu17 -Wall -Werror -I"$TOP/include" -o loop "$made/loop.c" -L"$made/lib" -luv -lvitro -Wl,-rpath,"$made/lib"
    LD_PRELOAD=$preload ./loop >told
    printf "600000 0 600\ntick 3600\n5400000 0 5400\ntick 7200\n" | cmp - told'

test_that "without the interposer a bench holds for the library alone" '
    build plain
    [ "$(./plain)" = "0 0 3600" ]'

test_that "a program that knows nothing of vitro is what it was with the interposer preloaded" '
    seq 1 1000 >numbers
    sort -R numbers | LD_PRELOAD=$preload sort -n | cmp - numbers
    LD_PRELOAD=$preload python3 -c "
import os, subprocess, threading, time, select, socket, tempfile, random
t = threading.Thread(target=time.sleep, args=(0.001,)); t.start(); t.join()
assert subprocess.run([\"sh\", \"-c\", \"exit 3\"]).returncode == 3
assert os.popen(\"echo hi\").read() == \"hi\\n\"
assert select.select([], [], [], 0.001) == ([], [], [])
a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"
with tempfile.TemporaryFile() as f: f.write(b\"x\")
assert abs(time.time() - 1767225600) > 3600 and os.urandom(8)
"'

test_that "the interposer exports libc functions and one symbol of its own" '
    nm -D --defined-only $preload | grep -q " vitro_interposer$"
    [ "$(nm -D --defined-only $preload | grep -c vitro)" = 1 ]
    ! nm -D --undefined-only $preload | grep -q vitro'

test_that "installed, pkg-config finds both" '
    make -s -C "$TOP" O="$O" DESTDIR="$PWD/root" PREFIX=/usr install >/dev/null 2>&1
    [ -e root/usr/lib/libvitro_interpose.so.0 ] && [ -e root/usr/lib/libvitro_interpose.a ]
    grep -q "^Libs: .*-lvitro_interpose.*-lvitro" root/usr/lib/pkgconfig/vitro_interpose.pc'
tap_done
