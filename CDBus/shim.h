#ifndef PCAST_CDBUS_SHIM_H
#define PCAST_CDBUS_SHIM_H

// The part of libdbus 1 that calls of the desktop portal require. The library is loaded when the portal is first used,
// so that a build does not require its headers and a machine without a desktop does not load it. The declarations are
// of its stable ABI.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name, *message;
    uint32_t bits;
    void *padding;
} cdbus_error;

typedef struct {
    void *pointers[2];
    uint32_t numbers[10];
    void *padding[2];
} cdbus_iterator;

enum {
    CDBUS_SESSION_BUS = 0,
    CDBUS_SIGNAL = 4,
    CDBUS_INVALID = 0,
    CDBUS_BOOLEAN = 'b',
    CDBUS_INT32 = 'i',
    CDBUS_UINT32 = 'u',
    CDBUS_STRING = 's',
    CDBUS_OBJECT_PATH = 'o',
    CDBUS_DESCRIPTOR = 'h',
    CDBUS_ARRAY = 'a',
    CDBUS_VARIANT = 'v',
    CDBUS_STRUCTURE = 'r',
    CDBUS_ENTRY = 'e',
};

// All functions in use, by their names without the prefix dbus_.
#define CDBUS_FUNCTIONS(F) \
    F(uint32_t, threads_init_default, (void)) \
    F(void, connection_set_change_sigpipe, (uint32_t)) \
    F(void, error_init, (cdbus_error *)) \
    F(void, error_free, (cdbus_error *)) \
    F(void *, bus_get_private, (int, cdbus_error *)) \
    F(const char *, bus_get_unique_name, (void *)) \
    F(void, bus_add_match, (void *, const char *, cdbus_error *)) \
    F(void, connection_set_exit_on_disconnect, (void *, uint32_t)) \
    F(uint32_t, connection_get_is_connected, (void *)) \
    F(void, connection_close, (void *)) \
    F(void, connection_unref, (void *)) \
    F(uint32_t, connection_read_write, (void *, int)) \
    F(void *, connection_pop_message, (void *)) \
    F(void, connection_flush, (void *)) \
    F(uint32_t, connection_send, (void *, void *, uint32_t *)) \
    F(void *, connection_send_with_reply_and_block, (void *, void *, int, cdbus_error *)) \
    F(void *, message_new_method_call, (const char *, const char *, const char *, const char *)) \
    F(void, message_unref, (void *)) \
    F(int, message_get_type, (void *)) \
    F(const char *, message_get_path, (void *)) \
    F(const char *, message_get_member, (void *)) \
    F(uint32_t, message_iter_init, (void *, cdbus_iterator *)) \
    F(int, message_iter_get_arg_type, (cdbus_iterator *)) \
    F(uint32_t, message_iter_next, (cdbus_iterator *)) \
    F(void, message_iter_recurse, (cdbus_iterator *, cdbus_iterator *)) \
    F(void, message_iter_get_basic, (cdbus_iterator *, void *)) \
    F(void, message_iter_init_append, (void *, cdbus_iterator *)) \
    F(uint32_t, message_iter_append_basic, (cdbus_iterator *, int, const void *)) \
    F(uint32_t, message_iter_open_container, (cdbus_iterator *, int, const char *, cdbus_iterator *)) \
    F(uint32_t, message_iter_close_container, (cdbus_iterator *, cdbus_iterator *))

#define CDBUS_MEMBER(result, name, arguments) result (*name) arguments;
typedef struct {
    CDBUS_FUNCTIONS(CDBUS_MEMBER)
} cdbus_library;
#undef CDBUS_MEMBER

// Loads the library. Returns 1 if it is installed with all functions; otherwise 0, and `reason` is the error of the
// dynamic linker.
static inline int cdbus_load(cdbus_library *library, const char **reason) {
    void *handle = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *reason = dlerror();
        return 0;
    }
#define CDBUS_FIND(result, name, arguments) \
    library->name = (result(*) arguments)dlsym(handle, "dbus_" #name); \
    if (!library->name) { \
        *reason = dlerror(); \
        return 0; \
    }
    CDBUS_FUNCTIONS(CDBUS_FIND)
#undef CDBUS_FIND
    return 1;
}

#endif
