# The guests' vDSO: freestanding, built without sanitizers, embedded by vdso_image.S. And the list of
# system calls the installed headers know, against which policy.def is checked when compiling.
$(O)/guest/vdso.so: src/box/guest/vdso.c src/box/guest/vdso_return.S src/box/guest/vdso_fast.S src/box/guest/vdso.lds src/box/box_abi.h
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@$(CC) -std=gnu17 -O2 -Wall -Wextra -Werror -mgeneral-regs-only -ffreestanding -fno-builtin -fPIC -fno-stack-protector \
		-fcf-protection=none -fno-asynchronous-unwind-tables -fno-strict-aliasing \
		-nostdlib -shared -Wl,-T,src/box/guest/vdso.lds -Wl,--hash-style=both -Wl,-Bsymbolic \
		-Wl,-soname,linux-vdso.so.1 -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code \
		-Wl,--build-id=none -s -o $@ $(filter %.c %.S,$^)
$(O)/src/box/vdso_image.o: $(O)/guest/vdso.so

$(O)/sys_known.h: /usr/include/x86_64-linux-gnu/asm/unistd_64.h
	@mkdir -p $(@D)
	@sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/KNOWN(\1, \2)/p' $< >$@
$(O)/src/box/policy.o: $(O)/sys_known.h
CFLAGS_src_box_policy := -I$(O)

# The stub that stands in for recorded programs: static, its block in a section of its own.
$(O)/guest/stub: src/box/guest/stub.c src/box/stub_abi.h
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@$(CC) -std=gnu17 -Os -Wall -Wextra -Werror -mgeneral-regs-only -ffreestanding -fno-builtin -fno-pic -fno-stack-protector \
		-fcf-protection=none -fno-asynchronous-unwind-tables -fno-strict-aliasing -fno-tree-loop-distribute-patterns \
		-nostdlib -static -no-pie -Wl,-Ttext-segment=0x10000000 -Wl,--section-start=.block=0x20000000 \
		-Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code -Wl,--build-id=none -s -o $@ $<
$(O)/src/box/stub_image.o: $(O)/guest/stub
