/* SPDX-License-Identifier: MIT */
/* call_out: calls of the program's own functions from the library.
 *
 * The interposed libc knows the library's calls by their return address (src/interpose). A function
 * of the program that ends with a jump into libc, as compilers like to do, returns to where it was
 * called from. So that place is not in the library's section, and the result is looked at, so that
 * this function does not end with a jump itself. */
#pragma once

#define CALL_OUT __attribute__((section(".text.call_out"), noinline, unused))

static CALL_OUT void *call_out(void *(*function)(void *arg), void *arg)
{
    void *result = function(arg);

    __asm__ volatile("" : "+r"(result));
    return result;
}

static CALL_OUT int call_out_int(int (*function)(void *arg), void *arg)
{
    int result = function(arg);

    __asm__ volatile("" : "+r"(result));
    return result;
}
