// Counts a thread's allocations. `pcast-bench allocations` preloads it, and builds it with
//     cc -O2 -shared -fPIC -o malloc-counter.so malloc-counter.c
// glibc exports the functions also under its own names, so that no allocation needs a symbol lookup.
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <stddef.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

THREAD_LOCAL unsigned long allocations;
THREAD_LOCAL int traces_left;

unsigned long pcast_malloc_count(void) { return allocations; }

// Writes the call stack of the next `count` allocations to standard error.
void pcast_malloc_trace(int count) { traces_left = count; }

static void note(size_t size) {
    allocations++;
    if (traces_left <= 0) return;
    int left = traces_left;
    traces_left = 0;
    unsigned long before = allocations;
    void *frames[40];
    int depth = backtrace(frames, 40);
    backtrace_symbols_fd(frames + 2, depth - 2, STDERR_FILENO);
    (void)!write(STDERR_FILENO, "--\n", 3);
    allocations = before;
    traces_left = left - 1;
    (void)size;
}

void *malloc(size_t size) {
    note(size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note(count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    note(size);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
