#include "store/db.h"

bool db_open_postgres(const char *url, bool reader, struct db **ret, struct err *err)
{
    (void)url;
    (void)reader;
    (void)ret;
    return err_set(err, ERR_CONFIG, 0, "PostgreSQL is not built in yet");
}
