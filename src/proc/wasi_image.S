/* SPDX-License-Identifier: MIT */
/* What is carried along to be linked with modules: the archive of src/proc/guest and its headers. */
    .section .rodata
    .global wasi_image
    .global wasi_image_end
    .global wasi_image_host
    .global wasi_image_host_end
    .global wasi_image_calls
    .global wasi_image_calls_end
wasi_image:
    .incbin "guest/wasi.a"
wasi_image_end:
wasi_image_host:
    .incbin "src/proc/guest/wasi_host.h"
wasi_image_host_end:
wasi_image_calls:
    .incbin "src/proc/guest/wasi_calls.h"
wasi_image_calls_end:
    .section .note.GNU-stack, "", @progbits
