/* answer_excerpt.h - what a receiver's answer says, in a line for people.
 *
 * Receivers explain a refusal in their own format: plain text, JSON, a SOAP fault, a page of HTML.
 * The excerpt is what a person would read: text without tags, and without the scripts and styles of
 * a page.  People search for it (`docs ls --error`).
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Appends to `to`, which has a cap: a longer text is cut at a character.  Each run of white space
 * becomes a blank. */
void answer_excerpt(struct str body, struct buf *to);
