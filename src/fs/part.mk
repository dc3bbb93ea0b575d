# bench/fs/fs.sh drives the bare box of the tests.
bench_programs += $(O)/tools/fs-run
