# The WASI host: an archive that vitro carries and links with each module (wasi_build.c). It stands
# alone and is built without sanitizers.
wasi_guest := $(wildcard src/proc/guest/wasi_*.c)
$(O)/guest/wasi.a: $(wasi_guest) $(wildcard src/proc/guest/*.h)
	@mkdir -p $(@D)/wasi
	@echo "  guest  $@"
	@for f in $(wasi_guest); do $(CC) -std=gnu17 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC \
		-c -o $(@D)/wasi/$$(basename $$f .c).o $$f || exit 1; done
	@rm -f $@ && $(AR) rcsD $@ $(patsubst src/proc/guest/%.c,$(@D)/wasi/%.o,$(wasi_guest))
$(O)/src/proc/wasi_image.o: $(O)/guest/wasi.a
