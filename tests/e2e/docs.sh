# The documents are true: pages exist, examples run, tables agree with the format.
# In shell: it reads documents and runs the commands they show.
. "$(dirname "$0")/../lib/tap.sh"

verbs() { "$VITRO" --help | sed -n "s/^  \([a-z][a-z-]*\).*/\1/p" | sort -u; }

test_that "every verb has a man page, and the page has what the table knows" '
    for verb in $(verbs); do
        page=$TOP/$O/man/vitro-$verb.1
        [ -e "$page" ] || fail "there is no man page for $verb (docs/man/vitro-$verb.1.in)"
        grep -q "^.SH SYNOPSIS" "$page" && grep -q "^.SS vitro $verb" "$page" || fail "$page lacks @TABLES@"
        ! grep -q "@TABLES@" "$page"
    done'

test_that "man pages read without complaint" '
    need man
    for page in "$TOP/$O"/man/*; do
        LC_ALL=C.UTF-8 MANROFFSEQ= man --warnings -l "$page" >out 2>complaints || fail "$page"
        [ ! -s complaints ] || fail "$page: $(cat complaints)"
        grep -q NAME out
    done'

# The README is Markdown: indented lines that start with "vitro" are commands. A comment "run: X" runs X
# first, "status: N" is what the commands behind it end with.
test_that "the commands of the README run and end as it says" '
    PATH=$TOP/$O:$PATH wanted=0 count=0
    unset CI # recording is refused there
    while IFS= read -r text; do
        case $text in
        "<!-- run: "*) text=${text#"<!-- run: "}; eval "${text%" -->"}" ;;
        "<!-- status: "*) text=${text#"<!-- status: "}; wanted=${text%" -->"} ;;
        "    vitro "*)
            count=$((count + 1)) status=0
            eval "$text" >"$RUN/out" 2>"$RUN/err" || status=$?
            [ "$status" = "$wanted" ] || fail "$text ended with $status, not $wanted" ;;
        esac
    done <"$TOP/README.md"
    wait
    [ "$count" -ge 18 ] || fail "only $count commands were found"'

test_that "the README opens with the two commands" '
    head -n 4 "$TOP/README.md" | grep -q "^    make demo" && head -n 4 "$TOP/README.md" | grep -q "^    make check"'

test_that "docs/formats/tape.md names every kind and its members" '
    sed -n "s/.*\[TAPE_[A-Z_]*\] = {\"\([a-z_]*\)\".*/\1/p" "$TOP/src/tape/tape_kinds.c" >kinds
    [ "$(wc -l <kinds)" -ge 26 ]
    for kind in $(cat kinds); do
        grep -q "^|.*\`$kind\`" "$TOP/docs/formats/tape.md" || fail "$kind is not in docs/formats/tape.md"
    done
    sed -n "s/^    {TAPE_\([A-Z_]*\), \"\([a-z_]*\)\".*/\1 \2/p" "$TOP/src/tape/fidelity_fields.c" |
        while read -r kind member; do
            kind=$(echo "$kind" | tr A-Z a-z)
            grep "^|.*\`$kind\`" "$TOP/docs/formats/tape.md" | grep -q "\`$member\`" || fail "$kind.$member"
        done'

test_that "whatever a public header declares, the shared library has" '
    for header in "$TOP"/include/vitro/*.h; do echo "#include \"vitro/${header##*/}\""; done >all.c
    cc -I"$TOP/include" -fsyntax-only -aux-info all.X all.c
    grep "include/vitro/" all.X | grep -v " static " | grep -oE "[ *]vitro_[a-z0-9_]+ \([^*]" | tr -d " *" |
        sed "s/(.*//" | sort -u >declared
    [ "$(wc -l <declared)" -ge 250 ]
    nm -D "$TOP/$O/libvitro.so" | sed -n "s/.* T \(vitro_.*\)/\1/p" | sort -u >exported
    comm -23 declared exported >missing
    [ ! -s missing ] || fail "declared, and not in libvitro.so: $(tr "\n" " " <missing)"'

test_that "the demo runs" '
    O=$O bash "$TOP/tools/demo" >out 2>&1 || fail "$(tail -n 20 out)"
    grep -q "1 divergence" out'

test_that "make install puts everything below DESTDIR and PREFIX, and a program builds against it" '
    make -C "$TOP" -s install O="$O" DESTDIR="$PWD/root" PREFIX=/opt/vitro >log 2>&1 || fail "$(cat log)"
    cd root/opt/vitro
    for file in bin/vitro lib/libvitro.a lib/libvitro.so.0 lib/pkgconfig/vitro.pc include/vitro/tape.h share/man/man1/vitro.1 \
        share/man/man1/vitro-tape.1 share/man/man5/vitro-tape.5 share/bash-completion/completions/vitro \
        share/zsh/site-functions/_vitro share/fish/vendor_completions.d/vitro.fish; do
        [ -s "$file" ] || fail "$file is missing"
    done
    [ "$(find ../.. -type f -o -type l | grep -vc "^../../opt/vitro/")" = 0 ]
    bin/vitro --version | grep -q "^vitro "
    grep -q "^prefix=/opt/vitro$" lib/pkgconfig/vitro.pc
    case $O in *san*) exit 0 ;; esac
    cc -Iinclude -o t "$TOP/examples/tape_write.c" -Llib -lvitro -Wl,-rpath,"$PWD/lib"
    ./t x.tape && bin/vitro tape verify x.tape --complete
    # What needs libcurl is done by the dynamic twin, which is found where it was installed.
    push() { bin/vitro tape push x.tape --store http://127.0.0.1:1/ >push.out 2>&1; }
    push || fail "$(cat push.out)"
    [ -e libexec/vitro/vitro-dynamic ] || exit 0
    rm libexec/vitro/vitro-dynamic
    ! push && grep -q "vitro-dynamic.* is not beside" push.out || fail "$(cat push.out)"'

test_that "bash completions offer verbs, words behind them and options" '
    source <("$VITRO" help completions bash)
    complete_line() { COMP_WORDS=($1 "$2"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _vitro; echo " ${COMPREPLY[*]} "; }
    complete_line vitro "" | grep -q " tape "
    complete_line "vitro tape" an | grep -q " annotate "
    complete_line "vitro tape annotate" "" | grep -q " add "
    complete_line "vitro tape annotate add" --ev | grep -q " --evidence "
    complete_line "vitro tape show x" --pro | grep -q " --process "'
tap_done
