/* SPDX-License-Identifier: MIT */
/* The stub, built from guest/stub.c, as bytes in the supervisor. */
    .section .rodata
    .balign 16
    .globl box_stub_image, box_stub_image_end
    .hidden box_stub_image, box_stub_image_end
box_stub_image:
    .incbin "guest/stub"
box_stub_image_end:
    .section .note.GNU-stack, "", @progbits
