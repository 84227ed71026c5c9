/* grammar_tls.c - the key `tls` of whatever connects to others. */
#include "core/grammar.h"

const struct option grammar_tls_keys[] = {
    OPTION("ca", OPT_PATH, "the authority that signed the receiver's certificate"),
    OPTION("cert", OPT_PATH, "our certificate"),
    OPTION("key", OPT_SECRET, "its private key"),
    OPTION("verify", OPT_BOOL, "refuse a receiver whose certificate is not right",
           .fallback = "true"),
    { 0 },
};

const struct option grammar_tls[] = {
    OPTION("tls", OPT_MAP, "TLS beyond the usual", .keys = grammar_tls_keys),
    { 0 },
};
