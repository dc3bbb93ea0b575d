# The shim: one static program for any command name, embedded by shim_image.S. Never sanitised: it
# runs in the environment of the program under test.
shim_sources := $(wildcard src/sandbox/shim/*.c) src/sandbox/shim_bytes.c \
	src/base/buf.c src/base/err.c src/base/fd.c src/base/json.c src/base/text.c $(filter-out %_test.c %_fuzz.c,$(wildcard src/match/*.c))
shim_objects := $(patsubst src/%.c,$(O)/shim/%.o,$(shim_sources))
$(O)/shim/%.o: src/%.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -O2 -ffunction-sections -fdata-sections $(WARNINGS) -MMD -MP -c -o $@ $<
$(O)/guest/shim: $(shim_objects)
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@$(CC) -static -s -Wl,--gc-sections -Wl,--build-id=none -o $@ $^ -ljansson -lpcre2-8
$(O)/src/sandbox/shim_image.o: $(O)/guest/shim
-include $(shim_objects:.o=.d)
