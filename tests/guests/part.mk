# Guests: each C guest dynamic, static and with musl; Go without cgo; Java classes.
guest_c := $(wildcard tests/guests/*.c)
guests := $(patsubst tests/guests/%.c,build/guests/%,$(guest_c)) \
	$(patsubst tests/guests/%.c,build/guests/%.static,$(guest_c)) \
	$(if $(shell command -v musl-gcc),$(patsubst tests/guests/%.c,build/guests/%.musl,$(guest_c))) \
	$(if $(shell command -v go),$(patsubst tests/guests/%.go,build/guests/%_go,$(wildcard tests/guests/*.go))) \
	$(if $(shell command -v javac),$(patsubst tests/guests/%.java,build/guests/%.class,$(wildcard tests/guests/*.java)))

build/guests/%: tests/guests/%.c tests/guests/guest.h
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@$(CC) -O2 -g -Wall -o $@ $< -lpthread -lrt
build/guests/%.static: tests/guests/%.c tests/guests/guest.h
	@mkdir -p $(@D)
	@$(CC) -O2 -g -Wall -static -o $@ $< -lpthread -lrt
build/guests/%.musl: tests/guests/%.c tests/guests/guest.h
	@mkdir -p $(@D)
	@musl-gcc -O2 -g -Wall -static -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu \
		-Dstrerrorname_np=guest_errno_name -include tests/guests/musl.h -o $@ $< -lpthread
build/guests/%_go: tests/guests/%.go
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@CGO_ENABLED=0 GOFLAGS=-mod=mod GO111MODULE=off go build -o $@ $<
build/guests/%.class: tests/guests/%.java
	@mkdir -p $(@D)
	@echo "  guest  $@"
	@javac -d $(@D) $<
