// Faults in a container, selected by MODE. For the black-box tests.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, PAUSE_US = 10000 };

int main(void) {
    const char *mode = getenv("MODE");
    fprintf(stderr, "the mode is %s\n", mode ? mode : "none");
    // Exceeds its memory limit step by step.
    while (mode && strcmp(mode, "eats") == 0) {
        char *chunk = malloc(CHUNK);
        if (chunk) {
            memset(chunk, 1, CHUNK);
        }
        usleep(PAUSE_US);
    }
    return 3;
}
