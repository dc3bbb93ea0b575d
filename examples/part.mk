# Examples, compiled against the public headers only and linked with the library. Those that include
# tap.h or explore its schedules check themselves and are run by make check like any other test.
self_checking := $(shell grep -lE '"tap.h"|vitro/explore.h' examples/*.c)
example_tests := $(patsubst examples/%.c,$(O)/tests/examples/%_test,$(self_checking))
example_programs := $(patsubst examples/%.c,$(O)/examples/%,$(filter-out $(self_checking),$(wildcard examples/*.c)))
example_needs := examples/tap.h $(wildcard include/vitro/*.h) $(O)/libvitro.a
test_programs += $(example_tests)
guests += $(example_programs)

define build_example
@mkdir -p $(@D)
@echo "  cc     $<"
@$(CC) $(filter-out -Isrc -Itests,$(ALL_CFLAGS)) -o $@ $< $(O)/libvitro.a $(LIBS) $(LDFLAGS)
endef

$(filter-out $(O)/tests/examples/legacy_%,$(example_tests)): $(O)/tests/examples/%_test: examples/%.c $(example_needs)
	$(build_example)
$(example_programs): $(O)/examples/%: examples/%.c $(example_needs)
	$(build_example)

# Old code, unchanged, with the interposer before libc.
$(O)/tests/examples/legacy_%_test: examples/legacy_%.c examples/legacy/%.c $(example_needs) $(O)/libvitro_interpose.a
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) $(filter-out -Isrc -Itests,$(ALL_CFLAGS)) -o $@ $< examples/legacy/$*.c \
		-Wl,--whole-archive $(O)/libvitro_interpose.a -Wl,--no-whole-archive $(O)/libvitro.a $(LIBS) $(LDFLAGS)
