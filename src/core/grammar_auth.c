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
    { .name = "issuer",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("https", "http"),
      .help = "the provider, exactly as it calls itself; http only on this machine" },
    { .name = "client_id",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "how the provider knows this Waybill" },
    { .name = "client_secret",
      .type = OPT_SECRET,
      .help = "and by what it proves that; left out: by nothing but PKCE" },
    { .name = "groups",
      .type = OPT_TEXT,
      .fallback = "groups",
      .help = "the claim of the ID token that lists the groups of a user" },
    { .name = "roles",
      .type = OPT_NAMED,
      .flags = OPT_FREE | OPT_REQUIRED,
      .each = &roles_each,
      .noun = "group",
      .help = "for each group what its users may do; who is in none of them is not let in" },
    { .name = "scopes",
      .type = OPT_TEXT,
      .fallback = "openid profile email",
      .help = "what is asked for" },
    { .name = "redirect",
      .type = OPT_URL,
      .words = OPTION_WORDS("https", "http"),
      .help = "where the provider sends users back, as it is registered there: "
              "https://HOST/oidc/callback; left out: the address that the browser uses" },
    { .name = "title",
      .type = OPT_TEXT,
      .fallback = "Single sign-on",
      .help = "what stands on the button" },
    { 0 },
};

const struct option grammar_auth[] = {
    { .name = "oidc",
      .type = OPT_MAP,
      .keys = grammar_oidc,
      .help = "log in at a provider by OpenID Connect" },
    { 0 },
};
