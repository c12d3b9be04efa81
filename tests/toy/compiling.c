// A server of the contract hello that becomes faster: a thread "toy-compiler" needs COMPILE_MS of CPU time, and until then a request
// takes SLOW_US of CPU time, then FAST_US. With DUTY, that thread goes on to use this share (per cent) of a CPU. One thread for each
// connection, so that many connections starve the compiler.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_int is_compiled;

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static long cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void work(long ns) {
    for (long end = cpu_ns() + ns; cpu_ns() < end;) {
    }
}

static void *compile(void *unused) {
    prctl(PR_SET_NAME, "toy-compiler");
    work(number("COMPILE_MS", 0) * 1000000L);
    is_compiled = 1;
    for (long duty = number("DUTY", 0); duty > 0;) {
        work(1000000);
        if (duty < 100) {
            usleep((useconds_t)(1000 * (100 - duty) / duty));
        }
    }
    return unused;
}

// Decodes %XX of a path in place, up to its query.
static void decode(char *path) {
    char *to = path;
    for (char *from = path; *from && *from != '?'; from++, to++) {
        unsigned code;
        if (*from == '%' && sscanf(from + 1, "%2x", &code) == 1) {
            *to = (char)code;
            from += 2;
        } else {
            *to = *from;
        }
    }
    *to = 0;
}

static void reply(int connection, const char *status, const char *headers, const char *body, int is_head) {
    char text[512];
    int length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n%sContent-Length: %zu\r\n\r\n%s", status,
                          headers, strlen(body), is_head ? "" : body);
    if (write(connection, text, (size_t)length) < 0) {
        shutdown(connection, SHUT_RDWR);
    }
}

static void answer(int connection, char *head) {
    char method[16], path[256];
    if (sscanf(head, "%15s %255s", method, path) != 2) {
        shutdown(connection, SHUT_RDWR);
        return;
    }
    decode(path);
    int is_head = strcmp(method, "HEAD") == 0;
    if (strcmp(path, "/api/test") != 0) {
        reply(connection, "404 Not Found", "", "not found", is_head);
    } else if (!is_head && strcmp(method, "GET") != 0) {
        reply(connection, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "not allowed", 0);
    } else {
        work(1000 * (is_compiled ? number("FAST_US", 100) : number("SLOW_US", 500)));
        reply(connection, "200 OK", "", "Hello, World!", is_head);
    }
}

// Bodies are not read: the contract sends none that matters, and a connection with one ends.
static void *serve(void *argument) {
    int connection = (int)(long)argument, on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char buffer[8192];
    size_t length = 0;
    for (;;) {
        ssize_t more = read(connection, buffer + length, sizeof buffer - 1 - length);
        if (more <= 0) {
            break;
        }
        length += (size_t)more;
        buffer[length] = 0;
        char *end;
        while ((end = strstr(buffer, "\r\n\r\n"))) {
            *end = 0;
            int has_body = strcasestr(buffer, "content-length:") || strcasestr(buffer, "transfer-encoding:");
            answer(connection, buffer);
            length -= (size_t)(end + 4 - buffer);
            memmove(buffer, end + 4, length + 1);
            if (has_body) {
                shutdown(connection, SHUT_RDWR);
                break;
            }
        }
    }
    close(connection);
    return NULL;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)number("PORT", 8080))};
    const char *host = getenv("HOST");
    inet_pton(AF_INET, host ? host : "127.0.0.1", &address.sin_addr);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) {
        perror("listen");
        return 1;
    }
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &detached, compile, NULL);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection >= 0) {
            pthread_create(&thread, &detached, serve, (void *)(long)connection);
        }
    }
}
