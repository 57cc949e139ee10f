#ifndef PCAST_CPIPEWIRE_SHIM_H
#define PCAST_CPIPEWIRE_SHIM_H

// The part of libpipewire 0.3 (0.3.50 and later) that streams of video and audio and the lists of devices require. The library is loaded
// when the first of them is requested, so that a build does not require its headers and a machine without a PipeWire
// server does not load it. The declarations are of its stable ABI.

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

// pw_time until its member `avail_buffers`.
typedef struct {
    int64_t now;
    uint32_t numerator, denominator;
    uint64_t ticks;
    int64_t delay;
    uint64_t queued, buffered;
    uint32_t queued_buffers, available_buffers;
} cpw_time;

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

// spa_dict_item and spa_dict.
typedef struct { const char *key, *value; } cpw_property;
typedef struct { uint32_t flags, count; const cpw_property *properties; } cpw_properties;

// The first members of spa_interface, which each proxy begins with: the methods of an object, and their first argument.
typedef struct { const char *type; uint32_t version; const void *methods; void *object; } cpw_interface;

// pw_core_events, pw_registry_events and pw_node_events of version 0.
typedef struct {
    uint32_t version;
    void (*info)(void *data, const void *info);
    void (*done)(void *data, uint32_t id, int sequence);
    void (*ping)(void *data, uint32_t id, int sequence);
    void (*error)(void *data, uint32_t id, int sequence, int result, const char *message);
    void (*remove_id)(void *data, uint32_t id);
    void (*bound_id)(void *data, uint32_t id, uint32_t global);
    void (*add_memory)(void *data, uint32_t id, uint32_t type, int descriptor, uint32_t flags);
    void (*remove_memory)(void *data, uint32_t id);
} cpw_core_events;
typedef struct {
    uint32_t version;
    void (*added)(
        void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version,
        const cpw_properties *properties);
    void (*removed)(void *data, uint32_t id);
} cpw_registry_events;
typedef struct {
    uint32_t id, most_inputs, most_outputs;
    uint64_t changes;
    uint32_t inputs, outputs;
    int state;
    const char *error;
    const cpw_properties *properties;
    const void *parameters;
    uint32_t parameter_count;
} cpw_node_info;
typedef struct {
    uint32_t version;
    void (*info)(void *data, const cpw_node_info *info);
    void (*parameter)(void *data, int sequence, uint32_t id, uint32_t index, uint32_t next, const void *parameter);
} cpw_node_events;

// pw_client_info, and pw_client_events of version 0.
typedef struct { uint32_t id; uint64_t changes; const cpw_properties *properties; } cpw_client_info;
typedef struct {
    uint32_t version;
    void (*info)(void *data, const cpw_client_info *info);
    void (*permissions)(void *data, uint32_t index, uint32_t count, const void *permissions);
} cpw_client_events;

// The first members of pw_core_methods, pw_registry_methods, pw_node_methods and pw_client_methods.
typedef struct {
    uint32_t version;
    int (*add_listener)(void *object, cpw_hook *hook, const cpw_core_events *events, void *data);
    int (*hello)(void *object, uint32_t version);
    int (*sync)(void *object, uint32_t id, int sequence);
    int (*pong)(void *object, uint32_t id, int sequence);
    int (*error)(void *object, uint32_t id, int sequence, int result, const char *message);
    void *(*get_registry)(void *object, uint32_t version, size_t user_data_size);
} cpw_core_methods;
typedef struct {
    uint32_t version;
    int (*add_listener)(void *object, cpw_hook *hook, const cpw_registry_events *events, void *data);
    void *(*bind)(void *object, uint32_t id, const char *type, uint32_t version, size_t user_data_size);
} cpw_registry_methods;
typedef struct {
    uint32_t version;
    int (*add_listener)(void *object, cpw_hook *hook, const cpw_node_events *events, void *data);
    int (*subscribe)(void *object, uint32_t *ids, uint32_t count);
    int (*list)(void *object, int sequence, uint32_t id, uint32_t start, uint32_t count, const void *filter);
} cpw_node_methods;
typedef struct {
    uint32_t version;
    int (*add_listener)(void *object, cpw_hook *hook, const cpw_client_events *events, void *data);
} cpw_client_methods;

enum {
    CPW_INPUT = 0,
    CPW_STATE_ERROR = -1,
    CPW_STATE_UNCONNECTED = 0,
    CPW_STATE_STREAMING = 3,
    CPW_AUTOCONNECT = 1,
    CPW_MAP_BUFFERS = 4,
    CPW_REAL_TIME_PROCESS = 16,
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
    F(void *, context_connect, (void *, void *, size_t)) \
    F(void *, context_connect_fd, (void *, int, void *, size_t)) \
    F(int, core_disconnect, (void *)) \
    F(void, proxy_destroy, (void *)) \
    F(void *, properties_new, (const char *, ...)) \
    F(void *, stream_new, (void *, const char *, void *)) \
    F(void, stream_destroy, (void *)) \
    F(void, stream_add_listener, (void *, cpw_hook *, const cpw_stream_events *, void *)) \
    F(int, stream_connect, (void *, int, uint32_t, int, const void **, uint32_t)) \
    F(int, stream_update_params, (void *, const void **, uint32_t)) \
    F(int, stream_get_time_n, (void *, cpw_time *, size_t)) \
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

// Creates the stream of a camera by the name of its node.
static inline void *cpw_camera_stream(const cpw_library *library, void *core, const char *name) {
    return library->stream_new(
        core, "pcast camera",
        library->properties_new(
            "media.type", "Video", "media.category", "Capture", "media.role", "Camera", "target.object", name,
            "node.target", name, (const char *)NULL));
}

// Creates the stream of audio in pieces of 10 ms: what an output plays, or what a microphone or a program delivers. `serial`
// and `node` are the serial and the identifier of a node; null for the default output.
static inline void *cpw_audio_stream(
    const cpw_library *library, void *core, int is_output, const char *serial, const char *node) {
    return library->stream_new(
        core, "pcast audio",
        library->properties_new(
            "media.type", "Audio", "media.category", "Capture", "media.role", "Production", "node.name", "pcast",
            "node.latency", "480/48000", "stream.capture.sink", is_output ? "true" : "false",
            serial ? "target.object" : NULL, serial, "node.target", node, "node.dont-fallback", "true",
            (const char *)NULL));
}

// MARK: Methods of objects

#define CPW_METHODS(kind, proxy) const kind *methods = (const kind *)((const cpw_interface *)(proxy))->methods
#define CPW_OBJECT(proxy) (((const cpw_interface *)(proxy))->object)

// Adds a listener to a connection to a server.
static inline void cpw_core_listen(void *core, cpw_hook *hook, const cpw_core_events *events, void *data) {
    CPW_METHODS(cpw_core_methods, core);
    methods->add_listener(CPW_OBJECT(core), hook, events, data);
}

// Requests the event `done`, which follows the events of all former requests.
static inline void cpw_core_synchronize(void *core) {
    CPW_METHODS(cpw_core_methods, core);
    methods->sync(CPW_OBJECT(core), 0, 0);
}

// Returns the registry of a server, which reports all objects; null if there is no memory.
static inline void *cpw_core_registry(void *core) {
    CPW_METHODS(cpw_core_methods, core);
    return methods->get_registry(CPW_OBJECT(core), 3, 0);
}

// Adds a listener to a registry.
static inline void cpw_registry_listen(void *registry, cpw_hook *hook, const cpw_registry_events *events, void *data) {
    CPW_METHODS(cpw_registry_methods, registry);
    methods->add_listener(CPW_OBJECT(registry), hook, events, data);
}

// Returns a proxy of a node; null if there is no memory.
static inline void *cpw_registry_bind_node(void *registry, uint32_t id) {
    CPW_METHODS(cpw_registry_methods, registry);
    return methods->bind(CPW_OBJECT(registry), id, "PipeWire:Interface:Node", 3, 0);
}

// Adds a listener to a node, which reports its properties.
static inline void cpw_node_listen(void *node, cpw_hook *hook, const cpw_node_events *events, void *data) {
    CPW_METHODS(cpw_node_methods, node);
    methods->add_listener(CPW_OBJECT(node), hook, events, data);
}

// Returns a proxy of a client of the server; null if there is no memory.
static inline void *cpw_registry_bind_client(void *registry, uint32_t id) {
    CPW_METHODS(cpw_registry_methods, registry);
    return methods->bind(CPW_OBJECT(registry), id, "PipeWire:Interface:Client", 3, 0);
}

// Adds a listener to a client, which reports its properties.
static inline void cpw_client_listen(void *client, cpw_hook *hook, const cpw_client_events *events, void *data) {
    CPW_METHODS(cpw_client_methods, client);
    methods->add_listener(CPW_OBJECT(client), hook, events, data);
}

// Requests all values of a parameter of a node.
static inline void cpw_node_list(void *node, uint32_t parameter) {
    CPW_METHODS(cpw_node_methods, node);
    methods->list(CPW_OBJECT(node), 0, parameter, 0, UINT32_MAX, NULL);
}

#endif
