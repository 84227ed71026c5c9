/* keeper_word.h - what a keeper, or a mould, and its callers say to each other.
 *
 * A request is one byte, what to start, with KEEPER_FDS descriptors: the socket of the new process,
 * its page of progress (progress.h), and the keeper's end of its leash.  Over the leash the keeper
 * sends two words: STARTED (or REFUSED), then ENDED.  The caller may send KEEPER_LOWER, one byte;
 * the end of what it sends kills the process.
 */
#pragma once

#include <stdint.h>

enum { KEEPER_FDS = 3, KEEPER_LOWER = 1 };

/* The byte of a request: what the keeper starts.  A mould copies itself, whatever it says. */
enum keeper_task {
    KEEPER_CAGE,    /* a process of a cage: it reads files until it has locked itself up */
    KEEPER_DATABASE /* a connection to a database (sql/sql_main.h): it writes, too, in the folders
                     * that the keeper was given, until it has given that up but for one */
};

enum keeper_word_kind { KEEPER_STARTED = 1, KEEPER_REFUSED, KEEPER_ENDED };

struct keeper_word {
    int32_t kind;
    int32_t value; /* the process's id, errno, or its status */
};

/* Sanitizers report on stderr, read files when they do, and reserve much of the address space. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define KEEPER_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEPER_SANITIZED 1
#endif
#endif
#ifndef KEEPER_SANITIZED
#define KEEPER_SANITIZED 0
#endif
