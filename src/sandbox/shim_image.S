/* SPDX-License-Identifier: MIT */
/* The shim, built from shim/, as bytes in the library. */
    .section .rodata
    .balign 16
    .globl shim_image, shim_image_end
    .hidden shim_image, shim_image_end
shim_image:
    .incbin "guest/shim"
shim_image_end:
    .section .note.GNU-stack, "", @progbits
