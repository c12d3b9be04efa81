#define _GNU_SOURCE // memmem
#include "request.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define REPLY(status, length, body) \
    "HTTP/1.1 " status "\r\nContent-Type: text/plain\r\nContent-Length: " length "\r\n\r\n" body
#define FAREWELL(status) "HTTP/1.1 " status "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

static void answer(struct request *request, const char *reply) {
    request->reply = reply;
    request->reply_bytes = strlen(reply);
}

static enum parsed refuse(struct request *request, const char *reply) {
    answer(request, reply);
    request->keep_alive = false;
    return BROKEN;
}

void refuse_head(struct request *request) { refuse(request, FAREWELL("431 Request Header Fields Too Large")); }

// Compares a path with what it means: /api/%74est is /api/test.
static bool path_is(const char *path, size_t bytes, const char *wanted) {
    const char *end = path + bytes;
    for (; path < end && *wanted; wanted++) {
        int c = (unsigned char)*path++;
        if (c == '%' && end - path >= 2 && isxdigit((unsigned char)path[0]) && isxdigit((unsigned char)path[1])) {
            int high = tolower((unsigned char)path[0]), low = tolower((unsigned char)path[1]);
            c = (isdigit(high) ? high - '0' : high - 'a' + 10) * 16 + (isdigit(low) ? low - '0' : low - 'a' + 10);
            path += 2;
        }
        if (c != *wanted) return false;
    }
    return path == end && *wanted == '\0';
}

static void route(struct request *request, const char *method, size_t method_bytes, const char *path, size_t path_bytes) {
    const char *query = memchr(path, '?', path_bytes);
    if (query) path_bytes = query - path;
    if (!path_is(path, path_bytes, "/api/test")) answer(request, REPLY("404 Not Found", "0", ""));
    else if (method_bytes == 3 && memcmp(method, "GET", 3) == 0) answer(request, REPLY("200 OK", "13", "Hello, World!"));
    else answer(request, REPLY("405 Method Not Allowed", "0", ""));
    // The reply to HEAD is that one without a body: 404 and 405 have none.
}

// Content-Length; false where it is no number or too large a one.
static bool parse_length(const char *value, size_t bytes, size_t *length) {
    *length = 0;
    if (bytes == 0 || bytes > 15) return false;
    for (size_t i = 0; i < bytes; i++) {
        if (!isdigit((unsigned char)value[i])) return false;
        *length = *length * 10 + (size_t)(value[i] - '0');
    }
    return true;
}

static bool named(const char *name, size_t bytes, const char *wanted) {
    return bytes == strlen(wanted) && strncasecmp(name, wanted, bytes) == 0;
}

// One header line; NULL where it is fine, else the reply that refuses it.
static const char *header(struct request *request, const char *line, const char *end) {
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (!colon || colon == line) return FAREWELL("400 Bad Request");
    size_t name_bytes = (size_t)(colon - line);
    const char *value = colon + 1;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (value < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    size_t value_bytes = (size_t)(end - value);
    if (named(line, name_bytes, "content-length")) {
        if (!parse_length(value, value_bytes, &request->body_bytes)) return FAREWELL("400 Bad Request");
    } else if (named(line, name_bytes, "transfer-encoding")) {
        return FAREWELL("411 Length Required");
    } else if (named(line, name_bytes, "connection")) {
        if (named(value, value_bytes, "close")) request->keep_alive = false;
        if (named(value, value_bytes, "keep-alive")) request->keep_alive = true;
    }
    return NULL;
}

enum parsed parse_request(const char *bytes, size_t count, struct request *request) {
    const char *head_end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!head_end) return INCOMPLETE;
    *request = (struct request){.head_bytes = (size_t)(head_end - bytes) + 4};

    const char *line_end = memmem(bytes, request->head_bytes, "\r\n", 2);
    const char *path = memchr(bytes, ' ', (size_t)(line_end - bytes));
    if (!path || path == bytes) return refuse(request, FAREWELL("400 Bad Request"));
    path++;
    const char *version = memchr(path, ' ', (size_t)(line_end - path));
    if (!version || line_end - version != 9 || memcmp(version, " HTTP/1.", 8) != 0)
        return refuse(request, FAREWELL("400 Bad Request"));
    request->keep_alive = version[8] != '0';

    while (line_end < head_end) {
        const char *line = line_end + 2;
        line_end = memmem(line, (size_t)(head_end + 2 - line), "\r\n", 2);
        const char *refusal = header(request, line, line_end);
        if (refusal) return refuse(request, refusal);
    }
    route(request, bytes, (size_t)(path - 1 - bytes), path, (size_t)(version - path));
    return COMPLETE;
}
