// What the bytes of an HTTP/1.1 request mean.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct request {
    size_t head_bytes;      // with the empty line
    size_t body_bytes;      // as Content-Length says
    bool keep_alive;
    const char *reply;      // the whole reply
    size_t reply_bytes;
};

enum parsed { INCOMPLETE, COMPLETE, BROKEN };

// Reads one request from the bytes; BROKEN comes with a reply after which the connection is to be closed.
enum parsed parse_request(const char *bytes, size_t count, struct request *request);

// The reply to a head that does not fit in the buffer.
void refuse_head(struct request *request);
