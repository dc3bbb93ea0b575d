/* SPDX-License-Identifier: MIT */
/* The calls of WASI preview 1, as the made code calls them. */
#pragma once
#include <stdint.h>

uint32_t wasi_args_get(uint32_t pointers, uint32_t texts);
uint32_t wasi_args_sizes_get(uint32_t count, uint32_t size);
uint32_t wasi_clock_res_get(uint32_t clock, uint32_t address);
uint32_t wasi_clock_time_get(uint32_t clock, uint64_t precision, uint32_t address);
uint32_t wasi_environ_get(uint32_t pointers, uint32_t texts);
uint32_t wasi_environ_sizes_get(uint32_t count, uint32_t size);
uint32_t wasi_fd_advise(uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice);
uint32_t wasi_fd_allocate(uint32_t fd, uint64_t offset, uint64_t length);
uint32_t wasi_fd_close(uint32_t fd);
uint32_t wasi_fd_datasync(uint32_t fd);
uint32_t wasi_fd_fdstat_get(uint32_t fd, uint32_t address);
uint32_t wasi_fd_fdstat_set_flags(uint32_t fd, uint32_t flags);
uint32_t wasi_fd_fdstat_set_rights(uint32_t fd, uint64_t base, uint64_t inheriting);
uint32_t wasi_fd_filestat_get(uint32_t fd, uint32_t address);
uint32_t wasi_fd_filestat_set_size(uint32_t fd, uint64_t size);
uint32_t wasi_fd_filestat_set_times(uint32_t fd, uint64_t accessed, uint64_t modified,
                                    uint32_t flags);
uint32_t wasi_fd_pread(uint32_t fd, uint32_t list, uint32_t count, uint64_t offset, uint32_t ret);
uint32_t wasi_fd_prestat_dir_name(uint32_t fd, uint32_t address, uint32_t size);
uint32_t wasi_fd_prestat_get(uint32_t fd, uint32_t address);
uint32_t wasi_fd_pwrite(uint32_t fd, uint32_t list, uint32_t count, uint64_t offset, uint32_t ret);
uint32_t wasi_fd_read(uint32_t fd, uint32_t list, uint32_t count, uint32_t ret);
uint32_t wasi_fd_readdir(uint32_t fd, uint32_t address, uint32_t size, uint64_t cookie,
                         uint32_t ret);
uint32_t wasi_fd_renumber(uint32_t from, uint32_t to);
uint32_t wasi_fd_seek(uint32_t fd, uint64_t offset, uint32_t whence, uint32_t ret);
uint32_t wasi_fd_sync(uint32_t fd);
uint32_t wasi_fd_tell(uint32_t fd, uint32_t ret);
uint32_t wasi_fd_write(uint32_t fd, uint32_t list, uint32_t count, uint32_t ret);
uint32_t wasi_path_create_directory(uint32_t fd, uint32_t path, uint32_t length);
uint32_t wasi_path_filestat_get(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length,
                                uint32_t address);
uint32_t wasi_path_filestat_set_times(uint32_t fd, uint32_t follow, uint32_t path, uint32_t length,
                                      uint64_t accessed, uint64_t modified, uint32_t flags);
uint32_t wasi_path_link(uint32_t from_fd, uint32_t follow, uint32_t from, uint32_t from_length,
                        uint32_t to_fd, uint32_t to, uint32_t to_length);
uint32_t wasi_path_open(uint32_t fd, uint32_t follow, uint32_t path, uint32_t length,
                        uint32_t flags, uint64_t rights, uint64_t inheriting, uint32_t fd_flags,
                        uint32_t ret);
uint32_t wasi_path_readlink(uint32_t fd, uint32_t path, uint32_t length, uint32_t address,
                            uint32_t size, uint32_t ret);
uint32_t wasi_path_remove_directory(uint32_t fd, uint32_t path, uint32_t length);
uint32_t wasi_path_rename(uint32_t from_fd, uint32_t from, uint32_t from_length, uint32_t to_fd,
                          uint32_t to, uint32_t to_length);
uint32_t wasi_path_symlink(uint32_t target, uint32_t target_length, uint32_t fd, uint32_t path,
                           uint32_t length);
uint32_t wasi_path_unlink_file(uint32_t fd, uint32_t path, uint32_t length);
uint32_t wasi_poll_oneoff(uint32_t in, uint32_t out, uint32_t count, uint32_t ret);
uint32_t wasi_proc_raise(uint32_t signal);
uint32_t wasi_random_get(uint32_t address, uint32_t size);
uint32_t wasi_sched_yield(void);
uint32_t wasi_sock_accept(uint32_t fd, uint32_t flags, uint32_t ret);
uint32_t wasi_sock_recv(uint32_t fd, uint32_t list, uint32_t count, uint32_t flags, uint32_t ret,
                        uint32_t ret_flags);
uint32_t wasi_sock_send(uint32_t fd, uint32_t list, uint32_t count, uint32_t flags, uint32_t ret);
uint32_t wasi_sock_shutdown(uint32_t fd, uint32_t how);
void wasi_proc_exit(uint32_t code);
