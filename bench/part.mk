# Benchmarks: one program a bench/*_bench.c, driven by bench/run.
bench_sources := $(wildcard bench/*_bench.c)
bench_programs := $(patsubst bench/%.c,$(O)/bench/%,$(bench_sources))

$(O)/bench/%_bench: $(O)/bench/%_bench.o $(O)/libvitro.a
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS) $(LDFLAGS)

-include $(patsubst %,%.d,$(bench_programs))
