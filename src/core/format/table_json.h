/* table_json.h - CSV and fixed-width records as JSON, and back to the same bytes.
 *
 *     { "format": "csv", "separator": ";", "quotes": "needed", "end": "\r\n",
 *       "columns": ["id", "price"],
 *       "rows": [ {"id": "1", "price": "1.10"}, ... ],
 *       "written": [ [3, "\"2\";5\r\n"] ] }
 *
 * Every value is a text, as it is written in the table: 1.10 stays 1.10.  Without a line of names
 * (`header: false`) a row is a list.  Values of fixed-width records are without the blanks at their
 * end; their columns are those of the configuration.
 *
 * `written` has the rows that are not written as the rest says (quotes that are not needed, another
 * line break, fewer cells), by their number from 1, the line of names included.  Back, such a row
 * is written so if its values are still the same.
 *
 * Back, `rows` alone is enough, or a list of rows alone: the columns are those of the first row.
 * Numbers are taken as they are written, null is empty, a missing key is an empty cell.
 */
#pragma once

#include "core/format/table.h"

/* What the configuration says. */
struct table_rule {
    bool fixed, header;
    char separator;                     /* CSV; '\0': find it out, or a comma */
    const struct table_column *columns; /* fixed */
    size_t column_count;
};

/* Both append to `to`, at most `most` bytes; when they fail it is as it was. */
bool table_to_json(const struct table_rule *rule, struct str text, size_t most, struct buf *to,
                   struct err *err);
bool table_from_json(const struct table_rule *rule, struct str json, size_t most, struct buf *to,
                     struct err *err);
