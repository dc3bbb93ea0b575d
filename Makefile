# vitro: one plain makefile.
#
#   make            build/vitro, build/vitro-dynamic, build/libvitro.a, build/libvitro.so
#   make demo       installs what is missing, builds, and shows it working
#   make check      installs what is missing, builds, and runs all tests
#   make check SAN=address,undefined     the same under sanitizers
#   make check-long, fuzz, bench, tidy, format, install, clean
#
# Every .c file below src/PART/ belongs to the library, except src/cli (the command), *_test.c (a test
# program each), *_fuzz.c (a fuzz target each) and src/*/guest/ (code that runs inside guests).
# No list to keep: a new file is seen by the next make.

comma := ,
O := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wformat=2 -Wvla \
	-Wswitch-enum -Wno-format-nonliteral -Werror
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -Itests -fPIC -fvisibility=hidden \
	$(WARNINGS) $(CFLAGS) $(SANFLAGS)
LIBS := -ljansson -lnettle -lz -lzstd -lvterm -lpcre2-8 -lpthread -lm
# The command takes all of these and libc into itself (docs/decisions/0036), and has a dynamic twin for what
# needs libcurl. Where there is no libc.a, or with DYNAMIC=1, it is linked as usual.
STATIC := $(if $(DYNAMIC)$(SAN),,$(wildcard $(shell $(CC) -print-file-name=libc.a)))
commands := $(O)/vitro $(if $(STATIC),$(O)/vitro-dynamic)

all_sources := $(wildcard src/*/*.c)
tests := $(filter %_test.c,$(all_sources))
fuzzers := $(filter %_fuzz.c,$(all_sources))
cli_sources := $(filter src/cli/%,$(filter-out $(tests) $(fuzzers),$(all_sources)))
lib_sources := $(filter-out src/cli/% $(tests) $(fuzzers),$(all_sources))
lib_asm := $(wildcard src/*/*.S)
testlib_sources := $(wildcard tests/lib/*.c)

object = $(patsubst %.c,$(O)/%.o,$(filter %.c,$(1))) $(patsubst %.S,$(O)/%.o,$(filter %.S,$(1)))
lib_objects := $(call object,$(lib_sources) $(lib_asm))
cli_objects := $(call object,$(cli_sources))
test_programs := $(patsubst src/%.c,$(O)/tests/%,$(tests))
fuzz_replays := $(patsubst src/%.c,$(O)/tests/%,$(fuzzers))
man_pages := $(patsubst docs/man/%.in,$(O)/man/%,$(wildcard docs/man/*.in))

.PHONY: all demo check check-only check-long test-programs fuzz bench tidy format install clean deps
all: $(commands) $(O)/libvitro.a $(O)/libvitro.so $(man_pages)

$(O)/vitro $(O)/vitro-dynamic: $(cli_objects) $(O)/libvitro.a
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o,$^) $(O)/libvitro.a $(LINKAGE) $(LIBS) $(LDFLAGS)

ifneq ($(STATIC),)
$(O)/vitro: LINKAGE := -static
$(O)/vitro: $(O)/src/cli/static/curl_load.o
endif

$(O)/libvitro.a: $(lib_objects)
	@echo "  ar     $@"
	@rm -f $@ && $(AR) rcs $@ $(lib_objects)

$(O)/libvitro.so: $(lib_objects) src/libvitro.map
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,libvitro.so.0 -Wl,--version-script=src/libvitro.map \
		-o $@ $(lib_objects) $(LIBS) $(LDFLAGS)

$(O)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) $(ALL_CFLAGS) $(CFLAGS_$(subst /,_,$*)) -MMD -MP -c -o $@ $<
	@$(ONE_SECTION)

# The library's code is one section of that name, so that libvitro_interpose knows its calls (src/interpose).
$(call object,$(lib_sources)): tools/one-section
$(call object,$(lib_sources)): ONE_SECTION = tools/one-section $@

$(O)/%.o: %.S
	@mkdir -p $(@D)
	@echo "  as     $<"
	@$(CC) $(ALL_CFLAGS) -I$(O) -MMD -MP -c -o $@ $<

# Man pages are written by hand but for what the command tables know: @TABLES@ stands for it.
$(O)/man/%: docs/man/%.in $(O)/vitro
	@mkdir -p $(@D)
	@echo "  man    $@"
	@$(O)/vitro help man $(patsubst vitro-%,%,$(basename $*)) >$@.tables
	@sed -e '/^@TABLES@$$/{r $@.tables' -e 'd;}' $< >$@ && rm $@.tables

# Tests: one program a *_test.c; one corpus replay a *_fuzz.c; the guests; shell tests in tests/e2e.
$(O)/tests/%_test: $(O)/src/%_test.o $(call object,$(testlib_sources)) $(filter-out %/main.o,$(cli_objects)) $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS) -lcmocka $(LDFLAGS)

$(O)/tests/%_fuzz: $(O)/src/%_fuzz.o $(O)/tests/fuzz_replay.o $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS) $(LDFLAGS)

# Parts with rules of their own (guest-side code, guests, benchmarks, examples).
include $(wildcard src/*/part.mk tests/*/part.mk bench/part.mk examples/part.mk)

test-programs: all $(test_programs) $(fuzz_replays) $(guests)

deps:
	@tools/deps build test

check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) test-programs
	@O=$(O) tools/run-tests

check-only: test-programs
	@O=$(O) tools/run-tests $(T)

check-long: deps
	@$(MAKE) --no-print-directory -j$$(nproc) test-programs
	@O=$(O) LONG=1 tools/run-tests

demo:
	@tools/deps build
	@$(MAKE) --no-print-directory -j$$(nproc) all $(example_programs)
	@O=$(O) tools/demo

fuzz:
	@tools/deps build fuzz
	@tools/fuzz $(or $(T),all) $(or $(SECONDS_EACH),60)

bench:
	@tools/deps build test bench
	@$(MAKE) --no-print-directory -j$$(nproc) all $(bench_programs)
	@O=$(O) bench/run $(T)

tidy:
	@tools/deps build tidy
	@tools/tidy

format:
	@clang-format -i $$(git ls-files --cached --others --exclude-standard '*.c' '*.h')

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/vitro \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(O)/vitro $(DESTDIR)$(PREFIX)/bin/vitro
	$(if $(STATIC),install -D -m 755 $(O)/vitro-dynamic $(DESTDIR)$(PREFIX)/libexec/vitro/vitro-dynamic)
	install -m 644 $(O)/libvitro.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(O)/libvitro.so $(DESTDIR)$(PREFIX)/lib/libvitro.so.0
	ln -sf libvitro.so.0 $(DESTDIR)$(PREFIX)/lib/libvitro.so
	install -m 644 $(O)/libvitro_interpose.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(O)/libvitro_interpose.so $(DESTDIR)$(PREFIX)/lib/libvitro_interpose.so.0
	ln -sf libvitro_interpose.so.0 $(DESTDIR)$(PREFIX)/lib/libvitro_interpose.so
	install -m 644 include/vitro/*.h $(DESTDIR)$(PREFIX)/include/vitro/
	for page in $(man_pages); do \
		install -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$(sed -n 's/.*VITRO_VERSION "\(.*\)"/\1/p' include/vitro/version.h)|" \
		tools/vitro.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/vitro.pc
	sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$(sed -n 's/.*VITRO_VERSION "\(.*\)"/\1/p' include/vitro/version.h)|" \
		tools/vitro_interpose.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/vitro_interpose.pc
	$(O)/vitro help completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/vitro
	$(O)/vitro help completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vitro
	$(O)/vitro help completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vitro.fish

clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(filter %.o,$(lib_objects) $(cli_objects) $(call object,$(tests) $(fuzzers) $(testlib_sources))))
.SECONDARY:
