// Parses HTTP/1.1 requests.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct request {
    size_t head_bytes;      // including the empty line
    size_t body_bytes;      // from Content-Length
    bool keep_alive;
    const char *reply;      // the whole reply
    size_t reply_bytes;
};

enum parsed { INCOMPLETE, COMPLETE, BROKEN };

// Parses one request; for BROKEN, the connection must be closed after the reply.
enum parsed parse_request(const char *bytes, size_t count, struct request *request);

// The reply to a head that does not fit in the buffer.
void refuse_head(struct request *request);
