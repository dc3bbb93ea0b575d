# Examples are programs that check themselves: compiled against the public headers, linked with the
# library, and run by make check like any other test.
example_programs := $(patsubst examples/%.c,$(O)/tests/examples/%_test,$(wildcard examples/*.c))
test_programs += $(example_programs)

$(example_programs): $(O)/tests/examples/%_test: examples/%.c examples/tap.h $(wildcard include/vitro/*.h) $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) $(filter-out -Isrc -Itests,$(ALL_CFLAGS)) -o $@ $< $(O)/libvitro.a $(LIBS) $(LDFLAGS)
