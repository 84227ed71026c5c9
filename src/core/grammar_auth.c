/* grammar_auth.c - the section `auth`: how people log in. */
#include "core/grammar.h"

static const struct option role_each = { .type = OPT_NAME };

static const struct option roles_each = {
    .type = OPT_LIST,
    .flags = OPT_REQUIRED,
    .each = &role_each,
    .noun = "group",
    .help = "names of roles",
};

const struct option grammar_oidc[] = {
    OPTION("issuer", OPT_URL, "the provider, exactly as it calls itself; http only on this machine",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("https", "http")),
    OPTION("client_id", OPT_TEXT, "how the provider knows this Waybill", .flags = OPT_REQUIRED),
    OPTION("client_secret", OPT_SECRET,
           "and by what it proves that; left out: by nothing but PKCE"),
    OPTION("groups", OPT_TEXT, "the claim of the ID token that lists the groups of a user",
           .fallback = "groups"),
    OPTION("roles", OPT_NAMED,
           "for each group what its users may do; who is in none of them is not let in",
           .flags = OPT_FREE | OPT_REQUIRED, .each = &roles_each, .noun = "group"),
    OPTION("scopes", OPT_TEXT, "what is asked for", .fallback = "openid profile email"),
    OPTION("redirect", OPT_URL,
           "where the provider sends users back, as it is registered there: "
           "https://HOST/oidc/callback; left out: the address that the browser uses",
           .words = OPTION_WORDS("https", "http")),
    OPTION("title", OPT_TEXT, "what stands on the button", .fallback = "Single sign-on"),
    { 0 },
};

const struct option grammar_auth[] = {
    OPTION("oidc", OPT_MAP, "log in at a provider by OpenID Connect", .keys = grammar_oidc),
    { 0 },
};
