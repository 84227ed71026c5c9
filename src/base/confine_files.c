/* confine_files.c - Landlock rules, by raw system calls.
 *
 * The structures and numbers are part of the kernel's stable interface.  They stand here because
 * the headers of Debian 12 know ABI 2 only, and the rights of later ones are used where the kernel
 * that runs has them.
 *
 * A right that a ruleset does not handle stays allowed, so each ABI's rights are handled as far as
 * the kernel knows them.  ABI 1 always refuses to move a file to another folder, which a node does
 * all the time: it counts as no Landlock.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/confine.h"

enum {
    CREATE_RULESET = 444, /* numbers of system calls, the same on all machines */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1,
    RULE_PATH_BENEATH = 1,
    RULE_NET_PORT = 2,
    BIND_TCP = 1,
    CONNECT_TCP = 2,
    SCOPE_ABSTRACT_SOCKET = 1,
    SCOPE_SIGNAL = 2,
    ABI_LEAST = 2, /* moves between folders */
    ABI_TRUNCATE = 3,
    ABI_NET = 4,
    ABI_IOCTL = 5,
    ABI_SCOPE = 6,
};

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_ABI_2 = (REFER << 1) - 1, /* all up to here: execute, symbolic links, devices... */
    OF_ABI_1 = REFER - 1,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
    READS = READ_FILE | READ_DIR,
    RUNS = READS | EXECUTE,
    WRITES = READS | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE,
};

struct ruleset_attr {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

struct port_attr {
    uint64_t allowed_access, port;
};

static int confine_files_abi(void)
{
    long abi = syscall(CREATE_RULESET, NULL, (size_t)0, ASK_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

static struct ruleset_attr handled_by(int abi)
{
    struct ruleset_attr a = { .handled_access_fs = OF_ABI_2 };

    if (abi >= ABI_TRUNCATE)
        a.handled_access_fs |= TRUNCATE;
    if (abi >= ABI_NET)
        a.handled_access_net = BIND_TCP;
    if (abi >= ABI_IOCTL)
        a.handled_access_fs |= IOCTL_DEV;
    if (abi >= ABI_SCOPE)
        a.scoped = SCOPE_SIGNAL;
    return a;
}

static uint64_t rights_of(enum confine_access access)
{
    return access == CONFINE_WRITE ? WRITES : access == CONFINE_RUN ? RUNS : READS;
}

/* Rights of folders cannot be given to a file. */
static bool add_path_rule(int ruleset, const struct confine_rule *rule, uint64_t handled,
                          struct confine_files_report *report, struct err *err)
{
    AUTO_FD fd = open(rule->path, O_PATH | O_CLOEXEC);
    struct path_attr attr = { .parent_fd = fd };
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        report->skipped++;
        return true;
    }
    attr.allowed_access = rights_of(rule->access) & handled;
    if (!S_ISDIR(st.st_mode))
        attr.allowed_access &= OF_FILES;
    if (syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0)
        return err_set(err, ERR_PERMANENT, errno, "Landlock rule for %s: %s", rule->path,
                       strerror(errno));
    return true;
}

static bool add_port_rule(int ruleset, uint64_t access, uint16_t port, struct err *err)
{
    struct port_attr attr = { .allowed_access = access, .port = port };

    if (syscall(ADD_RULE, ruleset, RULE_NET_PORT, &attr, 0) < 0)
        return err_set(err, ERR_PERMANENT, errno, "Landlock rule for port %u: %s", port,
                       strerror(errno));
    return true;
}

bool confine_files(const struct confine_rule *rules, size_t count,
                   const struct confine_ports *ports, struct confine_files_report *ret,
                   struct err *err)
{
    *ret = (struct confine_files_report){ .abi = confine_files_abi() };
    if (ret->abi < ABI_LEAST)
        return err_set(err, ERR_CONFIG, errno,
                       ret->abi == 0
                           ? "the kernel has no Landlock, or a container forbids it"
                           : "the kernel's Landlock is too old: it has no moves of files");
    struct ruleset_attr handled = handled_by(ret->abi);

    if (ports->any)
        handled.handled_access_net = 0;
    if (ports->connect != NULL && ret->abi >= ABI_NET)
        handled.handled_access_net |= CONNECT_TCP;
    AUTO_FD ruleset = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);

    if (ruleset < 0)
        return err_set(err, ERR_CONFIG, errno, "Landlock: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        if (!add_path_rule(ruleset, &rules[i], handled.handled_access_fs, ret, err))
            return false;
    ret->ports = (handled.handled_access_net & BIND_TCP) != 0;
    for (size_t i = 0; ret->ports && i < ports->count; i++)
        if (!add_port_rule(ruleset, BIND_TCP, ports->items[i], err))
            return false;
    for (size_t i = 0; (handled.handled_access_net & CONNECT_TCP) != 0 && i < ports->connect_count;
         i++)
        if (!add_port_rule(ruleset, CONNECT_TCP, ports->connect[i], err))
            return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(RESTRICT_SELF, ruleset, 0) < 0)
        return err_set(err, ERR_CONFIG, errno, "Landlock: %s", strerror(errno));
    return true;
}

int confine_all(void)
{
    int abi = confine_files_abi();
    struct ruleset_attr handled = handled_by(abi);

    if (abi == 0)
        return 0;
    if (abi < ABI_LEAST)
        handled.handled_access_fs = OF_ABI_1;
    if (abi >= ABI_NET)
        handled.handled_access_net = BIND_TCP | CONNECT_TCP;
    if (abi >= ABI_SCOPE)
        handled.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
    /* Kernels refuse an attribute that is longer than they know unless the rest is zero. */
    AUTO_FD ruleset = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);

    if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(RESTRICT_SELF, ruleset, 0) < 0)
        return 0;
    return abi;
}

bool confine_process(struct err *err)
{
    const struct rlimit none = { 0 };

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        setrlimit(RLIMIT_CORE, &none) < 0)
        return err_set(err, ERR_PERMANENT, errno, "prctl: %s", strerror(errno));
    return true;
}
