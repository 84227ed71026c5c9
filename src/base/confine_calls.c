/* confine_calls.c - a seccomp filter that refuses what only an intruder would call.
 *
 * A list of what is refused, not of what is allowed: which calls the C library, OpenSSL, curl,
 * libpq and SQLite make depends on their versions, and a list that is too short would stop a node
 * at night after an update of the system.  So the filter removes the calls that turn a memory error
 * into more: starting programs, reaching other processes, new namespaces and mounts, and the parts
 * of the kernel that attacks on it went through.  Memory that is writable and executable stays
 * allowed, because PCRE2 compiles regular expressions into it.
 *
 * The kernel evaluates the filter once for each call number and remembers the plain "allow", so the
 * length of the list costs nothing per call.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/require.h"

#if defined __x86_64__
#define OWN_MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Sanitizers attach to their own process to look for leaks. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum {
    X32_BIT = 0x40000000, /* on x86-64: the same calls under other numbers */
    PUSH_INPUT = 0x5412,  /* TIOCSTI: types into the terminal of whoever started us */
    NEW_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                     CLONE_NEWPID | CLONE_NEWNET,
};

static const int refused[] = {
    /* starting programs */
    SYS_execve,
    SYS_execveat,
    /* other processes, and other users */
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    /* namespaces and mounts; files by number instead of by path */
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    SYS_swapon,
    SYS_swapoff,
    SYS_open_by_handle_at,
    SYS_mknodat,
    SYS_fanotify_init,
    SYS_quotactl,
    SYS_acct,
    /* the kernel itself */
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    SYS_reboot,
    SYS_syslog,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
    SYS_lookup_dcookie,
    /* the machine's clock and name */
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
#endif
#if !SANITIZED
    SYS_ptrace,
#endif
};

/* The first calls of the table are those that start programs. */
enum { EXECUTING = 2 };

enum { REFUSED = sizeof refused / sizeof refused[0], FILTER_MOST = REFUSED * 2 + 24 };

#ifdef OWN_MACHINE

struct call_filter {
    struct sock_filter steps[FILTER_MOST];
    unsigned short count;
};

static void filter_add(struct call_filter *f, struct sock_filter step)
{
    require(f->count < FILTER_MOST);
    f->steps[f->count++] = step;
}

static void filter_load(struct call_filter *f, size_t offset)
{
    filter_add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* If the loaded word compares so, the call ends with `error`. */
static void filter_refuse(struct call_filter *f, uint16_t compare, uint32_t value, uint32_t error)
{
    filter_add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | compare | BPF_K, value, 0, 1));
    filter_add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

/* The low half of an argument. */
static size_t argument(int n)
{
    size_t at = offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)n;

    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? at : at + sizeof(uint32_t);
}

/* For one call, refuses a value of an argument. */
static void filter_refuse_argument(struct call_filter *f, int call, int n, uint16_t compare,
                                   uint32_t value)
{
    filter_add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4));
    filter_load(f, argument(n));
    filter_refuse(f, compare, value, EPERM);
    filter_add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void build_filter(struct call_filter *f, size_t from)
{
    filter_load(f, offsetof(struct seccomp_data, arch));
    filter_add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 1, 0));
    filter_add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    filter_load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    filter_refuse(f, BPF_JGE, X32_BIT, EPERM);
#endif
    for (size_t i = from; i < REFUSED; i++)
        filter_refuse(f, BPF_JEQ, (uint32_t)refused[i], EPERM);
    /* Its flags are in memory, where a filter cannot look; the C library then uses clone(). */
    filter_refuse(f, BPF_JEQ, SYS_clone3, ENOSYS);
    filter_refuse_argument(f, SYS_clone, 0, BPF_JSET, NEW_NAMESPACES);
    filter_refuse_argument(f, SYS_ioctl, 1, BPF_JEQ, PUSH_INPUT);
    filter_add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

#endif

/* `from`: of the table. */
static bool refuse_calls(size_t from, struct err *err)
{
#ifdef OWN_MACHINE
    struct call_filter f = { 0 };

    build_filter(&f, from);
    struct sock_fprog program = { .len = f.count, .filter = f.steps };

    /* SPEC_ALLOW: without it some kernels slow the whole process down. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) < 0)
        return err_set(err, ERR_CONFIG, errno, "seccomp: %s", strerror(errno));
    return true;
#else
    (void)from;
    return err_set(err, ERR_CONFIG, 0, "seccomp: the numbers of this machine's calls are unknown");
#endif
}

bool confine_calls(struct err *err)
{
    return refuse_calls(0, err);
}

bool confine_calls_of_keeper(struct err *err)
{
    return refuse_calls(EXECUTING, err);
}
