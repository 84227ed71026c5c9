#include "core/ftp/ftp_list.h"

#include "core/civil.h"

enum { YEAR_LEAST = 1970, YEAR_MOST = 2200, LEAP_YEARS = 8, WINDOWS_GAP = 10 };

/* ---- words and numbers ---- */

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0;
}

/* A number of exactly `digits` digits at `at`; -1: there is none. */
static int fixed(struct str s, size_t at, size_t digits)
{
    int n = 0;

    if (at > s.len || s.len - at < digits || !is_digits(str_mem(s.ptr + at, digits)))
        return -1;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (s.ptr[at + i] - '0');
    return n;
}

static bool list_size(struct str s, int64_t *ret)
{
    uint64_t n;

    if (!str_to_u64(s, &n) || n > INT64_MAX)
        return false;
    *ret = (int64_t)n;
    return true;
}

/* The next word; *rest begins with the blank that follows it. */
static struct str list_word(struct str *rest)
{
    size_t from = 0, to;

    while (from < rest->len && rest->ptr[from] == ' ')
        from++;
    for (to = from; to < rest->len && rest->ptr[to] != ' ';)
        to++;
    struct str word = str_mem(rest->ptr + from, to - from);

    *rest = str_from(*rest, to);
    return word;
}

static bool is_name(struct str name)
{
    return name.len > 0 && !str_is(name, ".") && !str_is(name, "..") && str_find(name, '/') < 0 &&
           str_find(name, '\0') < 0 && str_find(name, '\r') < 0 && str_find(name, '\n') < 0;
}

static struct str without_cr(struct str line)
{
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* ---- times ---- */

struct list_time {
    int year, month, day, hour, minute, second; /* year 0: not told */
};

static bool is_time(const struct list_time *t)
{
    return t->year >= YEAR_LEAST && t->year <= YEAR_MOST && t->month >= 1 && t->month <= 12 &&
           t->day >= 1 && t->day <= civil_month_days(t->year, t->month) && t->hour >= 0 &&
           t->hour <= 23 && t->minute >= 0 && t->minute <= 59 && t->second >= 0 && t->second <= 60;
}

static bool time_seconds(const struct list_time *t, int64_t *ret_s)
{
    if (!is_time(t))
        return false;
    *ret_s = civil_day(t->year, t->month, t->day) * CIVIL_DAY_S + t->hour * 3600 + t->minute * 60 +
             t->second;
    return true;
}

/* The last time of that day and hour, at most a day ahead: the clocks may differ. */
static bool recent_seconds(struct list_time t, int64_t now_s, int64_t *ret_s)
{
    int this = (int)civil_date(civil_floor(now_s, CIVIL_DAY_S)).year;

    for (t.year = this + 1; t.year > this - LEAP_YEARS; t.year--)
        if (time_seconds(&t, ret_s) && *ret_s <= now_s + CIVIL_DAY_S)
            return true;
    return false;
}

bool ftp_list_time(struct str text, int64_t *ret_s)
{
    struct list_time t = { fixed(text, 0, 4), fixed(text, 4, 2),  fixed(text, 6, 2),
                           fixed(text, 8, 2), fixed(text, 10, 2), fixed(text, 12, 2) };

    return (text.len == 14 ||
            (text.len > 15 && text.ptr[14] == '.' && is_digits(str_from(text, 15)))) &&
           time_seconds(&t, ret_s);
}

/* HH:MM, HH:MM:SS, HH:MM:SS.FRACTION; H may be one digit. */
static bool clock_time(struct str word, struct list_time *t, bool *ret_fraction)
{
    size_t at = word.len > 1 && word.ptr[1] == ':' ? 1 : 2;

    *ret_fraction = false;
    if (word.len < at + 3 || word.ptr[at] != ':')
        return false;
    t->hour = fixed(word, 0, at);
    t->minute = fixed(word, at + 1, 2);
    t->second = 0;
    word = str_from(word, at + 3);
    if (word.len >= 3 && word.ptr[0] == ':') {
        t->second = fixed(word, 1, 2);
        word = str_from(word, 3);
        if (word.len > 1 && word.ptr[0] == '.') {
            *ret_fraction = is_digits(str_from(word, 1));
            word = *ret_fraction ? STR("") : word;
        }
    }
    return word.len == 0 && t->hour >= 0 && t->hour <= 23 && t->minute >= 0 && t->minute <= 59 &&
           t->second >= 0;
}

static int month_of(struct str word)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (int i = 0; word.len == 3 && i < 12; i++)
        if (str_eq_nocase(word, str_mem(names + 3 * i, 3)))
            return i + 1;
    return 0;
}

static int day_of(struct str word)
{
    return word.len == 1 || word.len == 2 ? fixed(word, 0, word.len) : -1;
}

/* ---- MLSD ---- */

static bool kind_of_type(struct str type, enum ftp_list_kind *ret)
{
    if (str_eq_nocase(type, STR("cdir")) || str_eq_nocase(type, STR("pdir")))
        return false; /* this folder, and the one above it */
    if (str_eq_nocase(type, STR("file")))
        *ret = FTP_LIST_FILE;
    else if (str_eq_nocase(type, STR("dir")))
        *ret = FTP_LIST_FOLDER;
    else if (str_eq_nocase(str_first(type, 13), STR("OS.unix=slink")) ||
             str_eq_nocase(str_first(type, 15), STR("OS.unix=symlink")))
        *ret = FTP_LIST_LINK;
    else
        *ret = FTP_LIST_OTHER;
    return true;
}

enum ftp_list_line ftp_list_facts(struct str line, struct ftp_list_entry *ret)
{
    struct str facts, fact, name = str_cut(without_cr(line), ' ', &facts);
    enum ftp_list_line is = FTP_LIST_ENTRY;

    *ret = (struct ftp_list_entry){ .name = name, .size = -1 };
    if (facts.len == without_cr(line).len)
        return FTP_LIST_UNREAD;
    while (facts.len > 0) {
        struct str key, value;

        facts = str_cut(facts, ';', &fact);
        value = str_cut(fact, '=', &key);
        if (str_eq_nocase(key, STR("type"))) {
            if (!kind_of_type(value, &ret->kind))
                is = FTP_LIST_NONE;
        } else if (str_eq_nocase(key, STR("size"))) {
            if (!list_size(value, &ret->size))
                return FTP_LIST_UNREAD;
        } else if (str_eq_nocase(key, STR("modify"))) {
            if (!ftp_list_time(value, &ret->time_s))
                ret->time_s = 0;
        }
    }
    if (is == FTP_LIST_NONE || str_is(name, ".") || str_is(name, ".."))
        return FTP_LIST_NONE;
    return is_name(name) ? FTP_LIST_ENTRY : FTP_LIST_UNREAD;
}

/* ---- LIST of Unix ---- */

/* "Nov 18 10:59", "Nov 18  2024", "18 Nov 2024", "2026-11-18 10:59[:02[.0 +0100]]", and one
 * blank.  False: there is something else, and *rest is as it was. */
static bool unix_time(struct str *rest, int64_t now_s, int64_t *ret_s)
{
    struct str at = *rest, first = list_word(&at), second, third;
    struct list_time t = { 0 };
    bool fraction = false, ok;

    if (first.len == 10 && first.ptr[4] == '-' && first.ptr[7] == '-') {
        t = (struct list_time){
            fixed(first, 0, 4), fixed(first, 5, 2), fixed(first, 8, 2), 0, 0, 0
        };
        ok = clock_time(list_word(&at), &t, &fraction) && time_seconds(&t, ret_s);
        if (fraction)
            (void)list_word(&at); /* the zone */
    } else {
        second = list_word(&at);
        third = list_word(&at);
        t.month = month_of(first) > 0 ? month_of(first) : month_of(second);
        t.day = day_of(month_of(first) > 0 ? second : first);
        if (third.len == 4 && is_digits(third)) {
            t.year = fixed(third, 0, 4);
            ok = time_seconds(&t, ret_s);
        } else {
            ok = clock_time(third, &t, &fraction) && t.month > 0 && recent_seconds(t, now_s, ret_s);
        }
    }
    if (!ok || at.len < 2 || at.ptr[0] != ' ')
        return false;
    *rest = str_from(at, 1);
    return true;
}

static bool kind_of_mode(struct str mode, enum ftp_list_kind *ret)
{
    static const char kinds[] = "-dlbcpsD";
    const char *kind;

    if (mode.len < 10 || mode.len > 11 || mode.ptr[0] == '\0')
        return false;
    for (size_t i = 1; i < 10; i++)
        if (mode.ptr[i] == '\0' || strchr("-rwxsStTlL", mode.ptr[i]) == NULL)
            return false;
    kind = strchr(kinds, mode.ptr[0]);
    if (kind == NULL)
        return false;
    *ret = kind == kinds       ? FTP_LIST_FILE
           : kind == kinds + 1 ? FTP_LIST_FOLDER
           : kind == kinds + 2 ? FTP_LIST_LINK
                               : FTP_LIST_OTHER;
    return true;
}

/* Links and owners may be missing, and groups may have blanks in their names: the size is the
 * number before the first time. */
static enum ftp_list_line unix_text(struct str line, int64_t now_s, struct ftp_list_entry *ret)
{
    struct str rest = line, mode = list_word(&rest);

    if (line.ptr[0] == ' ' || !kind_of_mode(mode, &ret->kind))
        return FTP_LIST_UNREAD;
    while (rest.len > 0) {
        struct str word = list_word(&rest);

        if (!list_size(word, &ret->size) || !unix_time(&rest, now_s, &ret->time_s))
            continue;
        ret->name = rest;
        for (size_t i = 0; ret->kind == FTP_LIST_LINK && i + 4 <= rest.len; i++)
            if (memcmp(rest.ptr + i, " -> ", 4) == 0) {
                ret->name.len = i;
                break;
            }
        return FTP_LIST_ENTRY;
    }
    return FTP_LIST_UNREAD;
}

/* ---- LIST of Windows ---- */

/* MM-DD-YY, MM-DD-YYYY, or YYYY-MM-DD; also with slashes. */
static bool windows_date(struct str word, struct list_time *t)
{
    if (word.len == 10 && (word.ptr[4] == '-' || word.ptr[4] == '/') &&
        word.ptr[7] == word.ptr[4]) {
        t->year = fixed(word, 0, 4);
        t->month = fixed(word, 5, 2);
        t->day = fixed(word, 8, 2);
        return t->year > 0;
    }
    if ((word.len != 8 && word.len != 10) || (word.ptr[2] != '-' && word.ptr[2] != '/') ||
        word.ptr[5] != word.ptr[2])
        return false;
    t->month = fixed(word, 0, 2);
    t->day = fixed(word, 3, 2);
    t->year = fixed(word, 6, word.len - 6);
    if (word.len == 8 && t->year >= 0)
        t->year += t->year < 70 ? 2000 : 1900;
    return t->year > 0;
}

/* 10:59AM, 10:59 (of 24 hours). */
static bool windows_time(struct str word, struct list_time *t)
{
    struct str half = word.len > 2 ? str_from(word, word.len - 2) : STR("");
    bool am = str_eq_nocase(half, STR("AM")), pm = str_eq_nocase(half, STR("PM")), fraction;

    if (am || pm)
        word.len -= 2;
    if (!clock_time(word, t, &fraction) || ((am || pm) && (t->hour < 1 || t->hour > 12)))
        return false;
    if (am || pm)
        t->hour = t->hour % 12 + (pm ? 12 : 0);
    return true;
}

static enum ftp_list_line windows_text(struct str line, struct ftp_list_entry *ret)
{
    struct list_time t = { 0 };
    struct str rest = line, size;
    size_t gap = 1;

    if (!windows_date(list_word(&rest), &t) || !windows_time(list_word(&rest), &t) ||
        !time_seconds(&t, &ret->time_s))
        return FTP_LIST_UNREAD;
    size = list_word(&rest);
    if (list_size(size, &ret->size)) {
        ret->kind = FTP_LIST_FILE;
    } else if (size.len > 2 && size.ptr[0] == '<' && size.ptr[size.len - 1] == '>') {
        ret->kind = str_eq_nocase(size, STR("<DIR>")) ? FTP_LIST_FOLDER : FTP_LIST_LINK;
        while (gap < WINDOWS_GAP && gap < rest.len && rest.ptr[gap] == ' ')
            gap++;
    } else {
        return FTP_LIST_UNREAD;
    }
    if (rest.len <= gap)
        return FTP_LIST_UNREAD;
    ret->name = str_from(rest, gap);
    return FTP_LIST_ENTRY;
}

/* ---- LIST ---- */

static bool is_total(struct str line)
{
    struct str word = list_word(&line);

    return (str_eq_nocase(word, STR("total")) || str_eq_nocase(word, STR("insgesamt"))) &&
           is_digits(str_trim(line));
}

enum ftp_list_line ftp_list_text(struct str line, int64_t now_s, struct ftp_list_entry *ret)
{
    enum ftp_list_line is;

    line = without_cr(line);
    *ret = (struct ftp_list_entry){ .size = -1 };
    if (str_trim(line).len == 0 || is_total(line))
        return FTP_LIST_NONE;
    is = line.ptr[0] >= '0' && line.ptr[0] <= '9' ? windows_text(line, ret)
                                                  : unix_text(line, now_s, ret);
    if (is == FTP_LIST_ENTRY && (str_is(ret->name, ".") || str_is(ret->name, "..")))
        return FTP_LIST_NONE;
    return is == FTP_LIST_ENTRY && !is_name(ret->name) ? FTP_LIST_UNREAD : is;
}
