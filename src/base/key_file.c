#include "base/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/file.h"

enum { KEY_DIGITS = KEY_FILE_BYTES * 2 };

static bool read_digits(int fd, const char *what, unsigned char ret[static KEY_FILE_BYTES],
                        struct err *err)
{
    char text[KEY_DIGITS + 3];
    unsigned char key[KEY_FILE_BYTES];
    size_t got = 0, len;
    ssize_t n;

    while (got < sizeof text && (n = read(fd, text + got, sizeof text - got)) > 0)
        got += (size_t)n;
    struct str digits = str_mem(text, got);

    while (digits.len > 0 &&
           (digits.ptr[digits.len - 1] == '\n' || digits.ptr[digits.len - 1] == '\r'))
        digits.len--;
    bool ok = digits.len == KEY_DIGITS &&
              sodium_hex2bin(key, sizeof key, digits.ptr, digits.len, NULL, &len, NULL) == 0 &&
              len == KEY_FILE_BYTES;

    if (ok)
        memcpy(ret, key, sizeof key);
    sodium_memzero(text, sizeof text);
    sodium_memzero(key, sizeof key);
    return ok || err_set(err, ERR_CONFIG, 0,
                         "the key file %s does not hold 64 hex digits, as `openssl rand -hex 32` "
                         "makes them",
                         what);
}

bool key_file_read(int dirfd, const char *path, unsigned char ret[static KEY_FILE_BYTES],
                   struct err *err)
{
    AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "cannot open the key file %s: %s", path,
                       strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_CONFIG, 0, "the key file %s is no file", path);
    if ((st.st_mode & S_IRWXO) != 0)
        return err_set(err, ERR_CONFIG, 0, "everybody may read the key file %s: chmod 600 %s", path,
                       path);
    return read_digits(fd, path, ret, err);
}

bool key_file_make(int dirfd, const char *name, struct err *err)
{
    unsigned char key[KEY_FILE_BYTES];
    char text[KEY_DIGITS + 1];

    chance_bytes(key, sizeof key);
    (void)sodium_bin2hex(text, sizeof text, key, sizeof key);
    text[KEY_DIGITS] = '\n';
    bool ok = publish_bytes(dirfd, name, str_mem(text, sizeof text), 0600, err);

    sodium_memzero(key, sizeof key);
    sodium_memzero(text, sizeof text);
    return ok;
}
