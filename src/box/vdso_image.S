/* SPDX-License-Identifier: MIT */
/* The guests' vDSO, built from guest/vdso.c, as bytes in the supervisor. */
    .section .rodata
    .balign 16
    .globl box_vdso_image, box_vdso_image_end
    .hidden box_vdso_image, box_vdso_image_end
box_vdso_image:
    .incbin "guest/vdso.so"
box_vdso_image_end:
    .section .note.GNU-stack, "", @progbits
