#!/bin/sh
# left.sh WORDS...: command lines that begin with one of WORDS, of processes that work below TMPDIR. Others of the same name on the
# machine are somebody else's.
for process in /proc/[0-9]*; do
    case $(readlink "$process/cwd") in "$TMPDIR"/*) ;; *) continue ;; esac
    line=$(tr '\0' ' ' 2>/dev/null <"$process/cmdline")
    for words; do
        case $line in "$words"*) echo "${process#/proc/} $line" ;; esac
    done
done
