/* envelope.h - what is sent around a document (http_out_request.before and .after). */
#pragma once

struct leg;

/* After prepare(): p->sending becomes the body of the request.  Small ones are copied, in large
 * ones the pieces follow each other. */
void envelope_put(struct leg *p);
