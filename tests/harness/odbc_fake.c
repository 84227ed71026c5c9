/* odbc_fake.c - drivers of ODBC that misbehave, for tests: compiled by
 * tests/blackbox/test_45_sql_out.py.
 *
 * HOW says what happens when the driver is told to connect:
 *     HANG     it never returns
 *     CRASH    it dies
 *     END      it ends its process
 *     FLOOD    it writes to every descriptor of its process, and never returns
 *     SPY      it tries what it must not be able to do, and tells in its error what it could
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG, CRASH, END, FLOOD, SPY };

static char said[400];

static void can(int ok, const char *what)
{
    if (ok) {
        strncat(said, what, sizeof said - strlen(said) - 2);
        strncat(said, " ", sizeof said - strlen(said) - 1);
    }
}

/* SECRET is a file of the test, PORT a port on which it listens. */
static void spy(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    int s = socket(AF_INET, SOCK_STREAM, 0);

    snprintf(said, sizeof said, "spy: ");
    can(open(SECRET, O_RDONLY) >= 0, "read-secret");
    can(open(SECRET ".new", O_WRONLY | O_CREAT, 0600) >= 0, "write-secret");
    can(open("/etc/odbcinst.ini.new", O_WRONLY | O_CREAT, 0600) >= 0, "write-etc");
    can(kill(getppid(), 0) == 0, "signal-parent");
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    can(connect(s, (struct sockaddr *)&to, sizeof to) == 0, "other-port");
    char *const argv[] = { "true", NULL };
    pid_t pid = fork();

    if (pid == 0) {
        execv("/bin/true", argv);
        _exit(9);
    }
    int status = 0;

    can(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "execute");
    can(getenv("SECRET_OF_TESTS") != NULL, "environment");
    can(malloc((size_t)2 << 30) != NULL, "memory");
    can(1, "end");
}

SQLRETURN SQLAllocHandle(SQLSMALLINT type, SQLHANDLE from, SQLHANDLE *ret)
{
    (void)type, (void)from;
    *ret = malloc(16);
    return SQL_SUCCESS;
}

SQLRETURN SQLFreeHandle(SQLSMALLINT type, SQLHANDLE h)
{
    (void)type, (void)h;
    return SQL_SUCCESS;
}

SQLRETURN SQLSetEnvAttr(SQLHENV e, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n)
{
    (void)e, (void)a, (void)v, (void)n;
    return SQL_SUCCESS;
}

SQLRETURN SQLSetConnectAttr(SQLHDBC c, SQLINTEGER a, SQLPOINTER v, SQLINTEGER n)
{
    (void)c, (void)a, (void)v, (void)n;
    return SQL_SUCCESS;
}

SQLRETURN SQLGetDiagRec(SQLSMALLINT type, SQLHANDLE h, SQLSMALLINT n, SQLCHAR *state,
                        SQLINTEGER *native, SQLCHAR *text, SQLSMALLINT room, SQLSMALLINT *len)
{
    (void)type, (void)h;
    if (n != 1)
        return SQL_NO_DATA;
    memcpy(state, "08001", 6);
    *native = 7;
    snprintf((char *)text, (size_t)room, "%s", said);
    if (len != NULL)
        *len = (SQLSMALLINT)strlen(said);
    return SQL_SUCCESS;
}

SQLRETURN SQLDriverConnect(SQLHDBC c, SQLHWND w, SQLCHAR *in, SQLSMALLINT inlen, SQLCHAR *out,
                           SQLSMALLINT room, SQLSMALLINT *len, SQLUSMALLINT how)
{
    static char noise[1 << 16];

    (void)c, (void)w, (void)in, (void)inlen, (void)out, (void)room, (void)len, (void)how;
    switch (HOW) {
    case CRASH:
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would first write a report of it */
        raise(SIGSEGV);
        break;
    case END:
        _exit(0);
    case FLOOD:
        memset(noise, 0x5a, sizeof noise);
        for (int fd = 0; fd < 16; fd++)
            (void)!write(fd, noise, sizeof noise);
        break;
    case SPY:
        spy();
        return SQL_ERROR;
    }
    for (;;)
        pause();
}
