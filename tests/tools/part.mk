# Programs the tests drive that are no tests themselves.
guests += $(O)/tools/fs-run

$(O)/tools/fs-run: $(O)/tests/tools/fs_run.o $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS) $(LDFLAGS)
