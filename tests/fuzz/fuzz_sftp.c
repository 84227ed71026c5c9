/* The answers of an SFTP server: every packet of a stream, as the client reads it. */
#include <stdint.h>
#include <stdlib.h>

#include "base/sftp_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(struct str s)
{
    volatile char sum = 0;

    for (size_t i = 0; i < s.len; i++)
        sum = (char)(sum ^ s.ptr[i]);
}

static void read_names(const struct sftp_answer *a)
{
    struct str rest = a->data, name;
    struct sftp_attrs attrs;
    struct err err = { 0 };

    for (uint32_t i = 0; i < a->count && sftp_take_name(&rest, &name, &attrs, &err); i++)
        touch(name);
}

static void read_one(struct str packet)
{
    struct sftp_answer a = { 0 };
    uint64_t longest_read, longest_write;
    struct err err = { 0 };
    unsigned extensions;

    if (sftp_read_answer(packet, &a, &err)) {
        touch(a.message);
        touch(a.data);
        read_names(&a);
        (void)sftp_read_limits(a.data, &longest_read, &longest_write);
    }
    (void)sftp_read_version(packet, &extensions, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_mem(data, size);

    while (rest.len >= SFTP_LENGTH) {
        uint8_t head[SFTP_LENGTH];
        struct err err = { 0 };
        size_t len;

        memcpy(head, rest.ptr, sizeof head);
        if (!sftp_read_length(head, &len, &err))
            break;
        rest = str_from(rest, SFTP_LENGTH);
        struct str packet = { rest.ptr, len < rest.len ? len : rest.len };

        read_one(packet);
        rest = str_from(rest, len);
    }
    return 0;
}
