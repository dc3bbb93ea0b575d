# libvitro_interpose: libc's functions, asked by whoever links or preloads it (src/interpose/interpose.h).
# It stands alone: no sanitizer, which would have its own idea of them, and nothing of libvitro.
interpose_shims := $(wildcard src/interpose/shim/*.c)
interpose_objects := $(patsubst src/%.c,$(O)/interpose/%.o,$(interpose_shims))
all: $(O)/libvitro_interpose.so $(O)/libvitro_interpose.a
$(O)/interpose/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  cc     $<"
	@$(CC) -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -O2 -g -fPIC -fvisibility=hidden -fno-builtin -fno-stack-protector \
		-U_FORTIFY_SOURCE $(WARNINGS) -Wno-nonnull-compare -MMD -MP -c -o $@ $<
$(O)/libvitro_interpose.so: $(interpose_objects)
	@echo "  link   $@"
	@$(CC) -shared -Wl,-soname,libvitro_interpose.so.0 -Wl,-z,now -o $@ $^
$(O)/libvitro_interpose.a: $(interpose_objects)
	@echo "  ar     $@"
	@rm -f $@ && $(AR) rcs $@ $^
-include $(interpose_objects:.o=.d)

# Tests of it have the shims in themselves, before libc, and call libraries that know nothing of us.
interposed_tests := $(patsubst src/%.c,$(O)/tests/%,$(wildcard src/interpose/*_test.c src/bench/*_test.c))
$(interposed_tests): $(interpose_objects) $(O)/tests/libplanted.so
$(interposed_tests): LDFLAGS += -lsqlite3 -lcurl -luv -Wl,-rpath,$(CURDIR)/$(O)/tests
$(O)/tests/libplanted.so: tests/interpose/planted.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu17 -O1 -shared -fPIC -Wl,-soname,libplanted.so -fno-optimize-sibling-calls -o $@ $<
