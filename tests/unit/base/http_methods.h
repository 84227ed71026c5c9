/* http_methods.h - the names of methods, for what the tests print. */
#pragma once

#include "base/http_parse.h"

static const char *const http_methods[HTTP_METHODS] = {
    [HTTP_METHOD_GET] = "GET",         [HTTP_METHOD_HEAD] = "HEAD",
    [HTTP_METHOD_POST] = "POST",       [HTTP_METHOD_PUT] = "PUT",
    [HTTP_METHOD_DELETE] = "DELETE",   [HTTP_METHOD_PATCH] = "PATCH",
    [HTTP_METHOD_OPTIONS] = "OPTIONS",
};
