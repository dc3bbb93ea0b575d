# Programs the tests drive that are no tests themselves.
guests += $(O)/tools/fs-run $(O)/tools/fs-mv $(O)/tools/fs-escape $(O)/tools/fs-acts

$(O)/tools/fs-%: $(O)/tests/tools/fs_%.o $(O)/libvitro.a
	@mkdir -p $(@D)
	@echo "  link   $@"
	@$(CC) $(ALL_CFLAGS) -o $@ $^ $(LIBS) $(LDFLAGS)

-include $(wildcard $(O)/tests/tools/*.d)
