/* file_sender.h - a file endpoint in a folder of its own, and documents to send through it. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "folder.h"

struct sender {
    struct folder home; /* the endpoint's folder is "out" in it */
    struct arena arena;
    void *self;
    int out;
};

__attribute__((unused)) static void sender_done(struct sender *s)
{
    if (s->self != NULL)
        endpoint_file.unmake(s->self);
    (void)close(s->out);
    arena_done(&s->arena);
    folder_done(&s->home);
}

/* Make the endpoint (again) of `options`, YAML in braces without the path. */
__attribute__((unused)) static bool sender_make(struct sender *s, const char *options)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct err err = { 0 };
    char *text = arena_printf(&s->arena, "{ kind: file, path: '%s/out'%s }", s->home.path, options);
    struct settings settings = { .node = yaml_load(str_of(text), &s->arena, &problems),
                                 .common = grammar_endpoint,
                                 .own = endpoint_file.kind.keys,
                                 .arena = &s->arena };

    if (!endpoint_file.make(&settings, &s->self, &err)) {
        printf("# %s\n", err.text);
        return false;
    }
    (void)mkdirat(s->home.fd, "out", 0700);
    if (s->out < 0)
        s->out = openat(s->home.fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->out >= 0;
}

__attribute__((unused)) static struct sender sender_of(const char *options)
{
    struct sender s = { .home = folder_make(), .arena = ARENA_INIT(256 << 20), .out = -1 };

    if (!sender_make(&s, options))
        exit(1);
    return s;
}

#define DOCUMENT "01932f2e-7c1a-7abc-8def-0123456789ab"

__attribute__((unused)) static struct sending sending_of(const char *delivery, struct str name,
                                                         struct str bytes)
{
    static const struct facts facts = { .sender = { "acme", 4 } };

    return (struct sending){ .document = STR(DOCUMENT),
                             .delivery = str_of(delivery),
                             .facts = &facts,
                             .name = name,
                             .gateway = STR("drop"),
                             .endpoint = STR("archive"),
                             .received_us = INT64_C(1763175130) * CLOCK_S,
                             .attempt = 1,
                             .size = (int64_t)bytes.len,
                             .bytes = bytes };
}

__attribute__((unused)) static struct verdict sender_send_as(struct sender *s, const char *delivery,
                                                             struct str name, struct str bytes)
{
    struct sending sending = sending_of(delivery, name, bytes);
    struct verdict v;

    endpoint_file.send(s->self, &sending, NULL, &v);
    return v;
}

#define DELIVERY DOCUMENT ".archive"

__attribute__((unused)) static struct verdict sender_send(struct sender *s, const char *name,
                                                          const char *bytes)
{
    return sender_send_as(s, DELIVERY, str_of(name), str_of(bytes));
}

__attribute__((unused)) static bool holds(int dirfd, const char *name, const char *want)
{
    AUTO(buf_done) struct buf got = BUF_INIT(64 << 20);
    struct err err = { 0 };

    return file_read_whole(dirfd, name, &got, &err) && str_is(buf_view(&got), want);
}

__attribute__((unused)) static bool put(int dirfd, const char *name, const char *bytes)
{
    AUTO_FD fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct err err = { 0 };

    return fd >= 0 && file_write_all(fd, str_of(bytes), &err);
}

/* How many entries a folder has, `.` and `..` not counted. */
__attribute__((unused)) static int entries(int at, const char *name)
{
    DIR *dir = fdopendir(openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        (void)closedir(dir);
    return n - 2;
}
