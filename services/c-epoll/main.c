// The least that a server can do for "Hello, World!": epoll, one thread and one listening socket per worker.
#define _GNU_SOURCE // accept4, CPU_COUNT
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"

enum { EVENTS = 512, BACKLOG = 4096, IN_BYTES = 16384, OUT_BYTES = 16384, LARGEST_REPLY = 256 };

struct connection {
    int socket;
    bool closing;           // after what is in out
    size_t skip;            // bytes of a body that are still to come
    size_t in_count, out_count, out_sent;
    char in[IN_BYTES], out[OUT_BYTES];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static int listen_socket(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(setting("PORT", "8080")))};
    if (inet_pton(AF_INET, setting("HOST", "127.0.0.1"), &address.sin_addr) != 1) fail("HOST is no IPv4 address");
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (listener < 0) fail("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Each worker listens for itself and the kernel shares the connections out.
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
    if (listen(listener, BACKLOG) < 0) fail("listen");
    return listener;
}

static void accept_all(int epoll, int listener) {
    int client, on = 1;
    while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = malloc(sizeof *connection);
        if (!connection) {
            close(client);
            return;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        memset(connection, 0, offsetof(struct connection, in));
        connection->socket = client;
        // Edge-triggered: registered once and never changed.
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = connection};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event) < 0) fail("epoll_ctl");
    }
}

// Turns the requests in `in` into replies in `out`, as many as have room.
static void answer_all(struct connection *c) {
    size_t used = 0;
    while (!c->closing && OUT_BYTES - c->out_count >= LARGEST_REPLY) {
        size_t skipped = c->skip < c->in_count - used ? c->skip : c->in_count - used;
        c->skip -= skipped;
        used += skipped;
        if (used == c->in_count) break;
        struct request request;
        enum parsed parsed = parse_request(c->in + used, c->in_count - used, &request);
        if (parsed == INCOMPLETE) {
            if (used > 0 || c->in_count < IN_BYTES) break;
            refuse_head(&request);
        }
        memcpy(c->out + c->out_count, request.reply, request.reply_bytes);
        c->out_count += request.reply_bytes;
        c->closing = !request.keep_alive;
        if (parsed == COMPLETE) {
            used += request.head_bytes;
            c->skip = request.body_bytes;
        }
    }
    c->in_count -= used;
    memmove(c->in, c->in + used, c->in_count);
}

// Sends what is in `out`; false where the connection is broken.
static bool flush(struct connection *c) {
    while (c->out_sent < c->out_count) {
        ssize_t sent = send(c->socket, c->out + c->out_sent, c->out_count - c->out_sent, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN;
        c->out_sent += (size_t)sent;
    }
    c->out_sent = c->out_count = 0;
    return true;
}

// Reads, answers and sends until the socket has or takes no more; false where the connection is over.
static bool serve(struct connection *c) {
    for (;;) {
        size_t before;
        do {
            before = c->in_count;
            answer_all(c);
            if (!flush(c)) return false;
            if (c->out_count > 0) return true;
        } while (c->in_count < before && c->in_count > 0);
        if (c->closing) return false;
        size_t room = IN_BYTES - c->in_count;
        ssize_t got = recv(c->socket, c->in + c->in_count, room, 0);
        if (got <= 0) return got < 0 && errno == EAGAIN;
        c->in_count += (size_t)got;
    }
}

static void *work(void *listener_pointer) {
    int listener = *(int *)listener_pointer, epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) fail("epoll");
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!connection) {
                accept_all(epoll, listener);
            } else if (!serve(connection)) {
                close(connection->socket);
                free(connection);
            }
        }
    }
    return NULL;
}

int main(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);

    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    int workers = atoi(setting("WORKERS", "0"));
    if (workers < 1) workers = CPU_COUNT(&cpus);
    int *listeners = calloc((size_t)workers, sizeof *listeners);
    if (!listeners) fail("calloc");
    for (int i = 0; i < workers; i++) {
        pthread_t thread;
        listeners[i] = listen_socket();
        if (pthread_create(&thread, NULL, work, &listeners[i]) != 0) fail("pthread_create");
    }
    int received;
    sigwait(&stop, &received);
    // Each reply leaves in the moment in which its request comes, so that there is nothing to wait for.
    return 0;
}
