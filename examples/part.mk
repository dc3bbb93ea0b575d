# Examples: one program an examples/*.c, built against the public headers only.
example_programs := $(patsubst examples/%.c,$(O)/examples/%,$(wildcard examples/*.c))
guests += $(example_programs)

$(O)/examples/%: examples/%.c $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  cc     $@"
	@$(CC) -std=gnu17 -Iinclude $(WARNINGS) $(CFLAGS) $(SANFLAGS) -o $@ $< $(O)/libvitro.a $(LIBS) $(LDFLAGS)
