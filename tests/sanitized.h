// Whether this test program is built under a sanitizer that keeps memory of its own (address, thread).
#pragma once

#if defined(__has_feature)  // clang's way to say it
#define ULPSCOPE_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ULPSCOPE_SANITIZED 1
#else
#define ULPSCOPE_SANITIZED 0
#endif

/// Built with clang's thread sanitizer and its OpenMP, whose start maps a file: under a limit of file sizes a program that does
/// nothing else dies of SIGBUS.
#if defined(__has_feature)
#define ULPSCOPE_MAPS_A_FILE_FIRST __has_feature(thread_sanitizer)
#else
#define ULPSCOPE_MAPS_A_FILE_FIRST 0
#endif
