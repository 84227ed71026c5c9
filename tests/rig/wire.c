#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *find(const char *bytes, size_t len, const char *what)
{
    return memmem(bytes, len, what, strlen(what));
}

/* The value of a header in [head, end), or NULL.  NAME comes as "\nname:". */
static const char *header(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = head; p + n < end; p++)
        if (*p == '\n' && strncasecmp(p, name, n) == 0)
            return p + n + strspn(p + n, " ");
    return NULL;
}

static void copy_id(const char *body, size_t len, struct wire_answer *answer)
{
    const char *p = find(body, len, "\"document\"");

    (void)snprintf(answer->id, sizeof answer->id, "-");
    if (p == NULL)
        return;
    p += strlen("\"document\"");
    while (p < body + len && (*p == ':' || *p == ' '))
        p++;
    if (p >= body + len || *p++ != '"')
        return;
    const char *end = memchr(p, '"', (size_t)(body + len - p));
    if (end != NULL && end > p && (size_t)(end - p) < sizeof answer->id)
        (void)snprintf(answer->id, sizeof answer->id, "%.*s", (int)(end - p), p);
}

int wire_parse(const char *bytes, size_t len, struct wire_answer *ret_answer)
{
    struct wire_answer answer = { 0 };
    const char *end = find(bytes, len, "\r\n\r\n");

    if (len >= 5 && memcmp(bytes, "HTTP/", 5) != 0)
        return -1;
    if (end == NULL)
        return len >= WIRE_IN_MAX ? -1 : 0;
    if (end - bytes < 12)
        return -1;
    answer.status = (int)strtol(bytes + 9, NULL, 10);
    size_t head = (size_t)(end - bytes) + 4;
    const char *length = header(bytes, end + 2, "\ncontent-length:");
    size_t body = length != NULL ? strtoul(length, NULL, 10) : 0;
    const char *connection = header(bytes, end + 2, "\nconnection:");
    if (body > WIRE_BODY_MAX)
        return -1;
    if (answer.status == 100) { /* an interim answer: step over it */
        int rest = wire_parse(bytes + head, len - head, ret_answer);
        if (rest == 1)
            ret_answer->size += head;
        return rest;
    }
    if (len < head + body)
        return 0;
    answer.size = head + body;
    answer.close = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    copy_id(bytes + head, body, &answer);
    *ret_answer = answer;
    return 1;
}

int wire_connect(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

int64_t wire_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void wire_sha256(const void *bytes, size_t len, char ret_hex[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int n = 0;

    if (EVP_Digest(bytes, len, sum, &n, EVP_sha256(), NULL) != 1 || n != 32)
        abort();
    for (unsigned int i = 0; i < n; i++)
        (void)snprintf(ret_hex + (size_t)2 * i, 3, "%02x", sum[i]);
}

int wire_journal_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0) {
        (void)fprintf(stderr, "journal %s: %s\n", path, strerror(errno));
        exit(74);
    }
    return fd;
}

void wire_journal(int fd, const char *format, ...)
{
    char line[320];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line || write(fd, line, (size_t)n) != n) {
        (void)fprintf(stderr, "journal: %s\n", strerror(errno));
        exit(74);
    }
}

long wire_number(const char *name, const char *text, long least, long most)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n < least || n > most) {
        (void)fprintf(stderr, "%s: a number from %ld to %ld is wanted, not \"%s\"\n", name, least,
                      most, text);
        exit(2);
    }
    return n;
}

uint64_t wire_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}
