/* json_equal.h - are two values of JSON the same?
 *
 * Numbers are compared by their value, texts decoded, objects without regard to the order of their
 * names.  A hash of every value, computed once from the end of the tree, finds what may be equal;
 * equal hashes are not believed.
 */
#pragma once

#include "service/schema/json_tree.h"

/* Computes the hashes of all values; more often is fine.  False with ERR_PERMANENT: an exponent is
 * too long for decimal_read(). */
bool json_equal_prepare(struct json_tree *t, struct err *err);
/* That of json_tree_name_node(), which changes. */
void json_equal_prepare_name(struct json_tree *t, uint32_t node);

/* Both trees are prepared.  *work grows with what was compared. */
bool json_tree_equal(const struct json_tree *a, uint32_t in_a, const struct json_tree *b,
                     uint32_t in_b, int64_t *work);
