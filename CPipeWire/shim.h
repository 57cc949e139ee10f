#ifndef PCAST_CPIPEWIRE_SHIM_H
#define PCAST_CPIPEWIRE_SHIM_H

// The part of libpipewire 0.3 (0.3.50 and later) that a video stream requires. The library is loaded when the first
// stream is opened, so that a build does not require its headers and a machine without a desktop does not load it. The
// declarations are of its stable ABI.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

// spa_chunk, spa_data, spa_meta and spa_buffer.
typedef struct { uint32_t offset, size; int32_t stride, flags; } cpw_chunk;
typedef struct {
    uint32_t type, flags;
    int64_t descriptor;
    uint32_t map_offset, maximum_size;
    void *data;
    cpw_chunk *chunk;
} cpw_data;
typedef struct { uint32_t type, size; void *data; } cpw_meta;
typedef struct { uint32_t meta_count, data_count; cpw_meta *metas; cpw_data *datas; } cpw_memory;

// pw_buffer.
typedef struct { cpw_memory *memory; void *user_data; uint64_t size, requested; } cpw_buffer;

// spa_meta_header and the first region of spa_meta_region.
typedef struct { uint32_t flags, offset; int64_t timestamp, decode_offset; uint64_t sequence; } cpw_header;
typedef struct { int32_t left, top; uint32_t width, height; } cpw_crop;

// spa_hook, which the library fills.
typedef struct { void *members[6]; } cpw_hook;

// pw_stream_events of version 0.
typedef struct {
    uint32_t version;
    void (*destroy)(void *data);
    void (*state_changed)(void *data, int before, int now, const char *error);
    void (*control_info)(void *data, uint32_t id, const void *control);
    void (*io_changed)(void *data, uint32_t id, void *area, uint32_t size);
    void (*param_changed)(void *data, uint32_t id, const void *parameter);
    void (*add_buffer)(void *data, cpw_buffer *buffer);
    void (*remove_buffer)(void *data, cpw_buffer *buffer);
    void (*process)(void *data);
    void (*drained)(void *data);
} cpw_stream_events;

enum {
    CPW_INPUT = 0,
    CPW_STATE_ERROR = -1,
    CPW_STATE_UNCONNECTED = 0,
    CPW_STATE_STREAMING = 3,
    CPW_AUTOCONNECT = 1,
    CPW_MAP_BUFFERS = 4,
    CPW_DONT_RECONNECT = 128,
    CPW_META_HEADER = 1,
    CPW_META_CROP = 2,
    CPW_DATA_MEMORY = 1,
    CPW_DATA_DESCRIPTOR = 2,
    CPW_CORRUPTED = 1,
};

// All functions in use, by their names without the prefix pw_.
#define CPW_FUNCTIONS(F) \
    F(void, init, (int *, char ***)) \
    F(void *, thread_loop_new, (const char *, const void *)) \
    F(void, thread_loop_destroy, (void *)) \
    F(void *, thread_loop_get_loop, (void *)) \
    F(int, thread_loop_start, (void *)) \
    F(void, thread_loop_stop, (void *)) \
    F(void, thread_loop_lock, (void *)) \
    F(void, thread_loop_unlock, (void *)) \
    F(void *, context_new, (void *, void *, size_t)) \
    F(void, context_destroy, (void *)) \
    F(void *, context_connect_fd, (void *, int, void *, size_t)) \
    F(int, core_disconnect, (void *)) \
    F(void *, properties_new, (const char *, ...)) \
    F(void *, stream_new, (void *, const char *, void *)) \
    F(void, stream_destroy, (void *)) \
    F(void, stream_add_listener, (void *, cpw_hook *, const cpw_stream_events *, void *)) \
    F(int, stream_connect, (void *, int, uint32_t, int, const void **, uint32_t)) \
    F(int, stream_update_params, (void *, const void **, uint32_t)) \
    F(cpw_buffer *, stream_dequeue_buffer, (void *)) \
    F(int, stream_queue_buffer, (void *, cpw_buffer *))

#define CPW_MEMBER(result, name, arguments) result (*name) arguments;
typedef struct {
    CPW_FUNCTIONS(CPW_MEMBER)
} cpw_library;
#undef CPW_MEMBER

// Loads the library. Returns 1 if it is installed with all functions; otherwise 0, and `reason` is the error of the
// dynamic linker.
static inline int cpw_load(cpw_library *library, const char **reason) {
    void *handle = dlopen("libpipewire-0.3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *reason = dlerror();
        return 0;
    }
#define CPW_FIND(result, name, arguments) \
    library->name = (result(*) arguments)dlsym(handle, "pw_" #name); \
    if (!library->name) { \
        *reason = dlerror(); \
        return 0; \
    }
    CPW_FUNCTIONS(CPW_FIND)
#undef CPW_FIND
    return 1;
}

// Creates the stream of a screen. Swift does not call functions with variable arguments.
static inline void *cpw_screen_stream(const cpw_library *library, void *core) {
    return library->stream_new(
        core, "pcast screen",
        library->properties_new(
            "media.type", "Video", "media.category", "Capture", "media.role", "Screen", (const char *)NULL));
}

#endif
