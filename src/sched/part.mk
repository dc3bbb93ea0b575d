# The scheduler's benchmarks: bench/sched/run builds and runs the peers and prints the table.
bench_programs += $(O)/bench/sched/vitro $(O)/bench/sched/uv

$(O)/bench/sched/vitro: bench/sched/vitro.c $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) $(ALL_CFLAGS) -o $@ $< $(O)/libvitro.a $(LIBS) $(LDFLAGS)

$(O)/bench/sched/uv: bench/sched/uv.c
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) $(ALL_CFLAGS) -o $@ $< -luv $(LDFLAGS)
