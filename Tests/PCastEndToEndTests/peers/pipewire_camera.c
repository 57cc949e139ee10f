// Offers a camera to a PipeWire server, which has no V4L2 node. Its frames are YUY2 with the time strip of the test pattern.
// The first argument is the name of its node, and the second and third the size. It runs until it is ended.
//
// It is compiled with CPipeWire/shim.h, so that it needs neither the headers of libpipewire nor of SPA.

#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT = 1, DRIVER = 1 << 3, RATE = 30 };

static cpw_library library;
static void *stream;
static uint32_t width, height;
static uint16_t counter;

// MARK: Parameters

// An object of properties (a SPA POD), which is written from its begin.
typedef struct { uint32_t words[64]; uint32_t count; } object;

static void add(object *target, uint32_t word) { target->words[target->count++] = word; }

static void begin(object *target, uint32_t type, uint32_t parameter) {
    target->count = 0;
    add(target, 0);
    add(target, 15);
    add(target, type);
    add(target, parameter);
}

// Adds a property of one or two words.
static void property(object *target, uint32_t key, uint32_t type, uint32_t first, uint32_t second, uint32_t size) {
    add(target, key);
    add(target, 0);
    add(target, size);
    add(target, type);
    add(target, first);
    add(target, second);
    target->words[0] = target->count * 4 - 8;
}

static void offer_format(object *target) {
    begin(target, 0x40003, 3);
    property(target, 1, 3, 2, 0, 4);
    property(target, 2, 3, 1, 0, 4);
    property(target, 0x20001, 3, 4, 0, 4);
    property(target, 0x20003, 10, width, height, 8);
    property(target, 0x20004, 11, RATE, 1, 8);
}

static void format_changed(void *data, uint32_t id, const void *parameter) {
    (void)data;
    if (id != 4 || !parameter) return;
    object buffers;
    begin(&buffers, 0x40004, 5);
    property(&buffers, 1, 4, 4, 0, 4);
    property(&buffers, 2, 4, 1, 0, 4);
    property(&buffers, 3, 4, width * height * 2, 0, 4);
    property(&buffers, 4, 4, width * 2, 0, 4);
    const void *parameters[] = {buffers.words};
    library.stream_update_params(stream, parameters, 1);
}

// MARK: Frames

// The 64 bits of the strip: a number, 40 bits of UTC milliseconds, and their checksum.
static uint64_t strip(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t milliseconds = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint64_t content = (uint64_t)counter++ << 40 | (milliseconds & 0xFFFFFFFFFF);
    uint8_t check = 0;
    for (int index = 6; index >= 0; index--) {
        check ^= (uint8_t)(content >> 8 * index);
        for (int bit = 0; bit < 8; bit++) check = check & 0x80 ? (uint8_t)(check << 1 ^ 0x07) : (uint8_t)(check << 1);
    }
    return content << 8 | check;
}

static void draw(uint8_t *pixels) {
    uint32_t rows = height / 18 < 16 ? 16 : height / 18;
    uint64_t bits = strip();
    for (uint32_t row = 0; row < height; row++) {
        for (uint32_t column = 0; column < width; column++) {
            uint32_t cell = 0;
            while (cell < 63 && column >= (cell + 1) * width / 64) cell++;
            uint8_t luma = row >= rows ? 90 : bits >> (63 - cell) & 1 ? 235 : 16;
            pixels[(row * width + column) * 2] = luma;
            pixels[(row * width + column) * 2 + 1] = 128;
        }
    }
}

static void process(void *data) {
    (void)data;
    cpw_buffer *buffer = library.stream_dequeue_buffer(stream);
    if (!buffer) return;
    cpw_data *memory = &buffer->memory->datas[0];
    if (memory->data && memory->maximum_size >= width * height * 2) {
        draw(memory->data);
        memory->chunk->offset = 0;
        memory->chunk->size = width * height * 2;
        memory->chunk->stride = (int32_t)(width * 2);
    }
    library.stream_queue_buffer(stream, buffer);
}

static void state_changed(void *data, int before, int now, const char *error) {
    (void)data;
    (void)before;
    // The server has closed the connection.
    if (now == CPW_STATE_ERROR || now == CPW_STATE_UNCONNECTED) {
        fprintf(stderr, "%s\n", error ? error : "there is no connection any more");
        _exit(1);
    }
    printf("state %d\n", now);
    fflush(stdout);
}

// MARK: Program

int main(int count, char **arguments) {
    const char *reason = NULL;
    if (count != 4 || !cpw_load(&library, &reason)) {
        fprintf(stderr, "pipewire_camera NAME WIDTH HEIGHT: %s\n", reason ? reason : "three arguments are needed");
        return 2;
    }
    width = (uint32_t)atoi(arguments[2]);
    height = (uint32_t)atoi(arguments[3]);
    void *handle = dlopen("libpipewire-0.3.so.0", RTLD_NOW);
    int (*trigger)(void *) = (int (*)(void *))dlsym(handle, "pw_stream_trigger_process");
    if (!trigger) return 1;
    library.init(NULL, NULL);
    void *loop = library.thread_loop_new("camera", NULL);
    void *context = library.context_new(library.thread_loop_get_loop(loop), NULL, 0);
    void *core = library.context_connect(context, NULL, 0);
    if (!core) {
        fprintf(stderr, "there is no PipeWire server\n");
        return 1;
    }
    stream = library.stream_new(
        core, arguments[1],
        library.properties_new(
            "node.name", arguments[1], "node.description", "Test camera", "media.class", "Video/Source", "media.type",
            "Video", "media.role", "Camera", (const char *)NULL));
    cpw_stream_events events = {
        .state_changed = state_changed, .param_changed = format_changed, .process = process};
    cpw_hook hook;
    memset(&hook, 0, sizeof hook);
    library.stream_add_listener(stream, &hook, &events, NULL);
    object format;
    offer_format(&format);
    const void *parameters[] = {format.words};
    if (library.stream_connect(stream, OUTPUT, UINT32_MAX, DRIVER | CPW_MAP_BUFFERS, parameters, 1) < 0) return 1;
    library.thread_loop_start(loop);
    while (1) {
        usleep(1000000 / RATE);
        library.thread_loop_lock(loop);
        trigger(stream);
        library.thread_loop_unlock(loop);
    }
}
