#ifndef PCAST_CSDL_SHIM_H
#define PCAST_CSDL_SHIM_H

// The part of SDL 2 (2.0.18 and later, Debian's libsdl2-2.0-0) that a video window requires. The library is loaded when
// the first window is opened, so that a build does not require its headers and a program without a window does not load
// it. The declarations are of SDL 2's stable ABI.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Functions of glibc by other names. Their headers are not included, because Swift would then regard this module as that
// of the types in them, such as timeval, and hide these from files that do not import it.
extern int csdl_open_file(const char *path, int flags, ...) __asm__("open");
extern long csdl_read(int descriptor, void *bytes, size_t count) __asm__("read");
extern long csdl_write(int descriptor, const void *bytes, size_t count) __asm__("write");
extern int csdl_close_file(int descriptor) __asm__("close");
extern int csdl_new_memory_file(const char *name, unsigned flags) __asm__("memfd_create");
extern int csdl_set_length(int descriptor, long length) __asm__("ftruncate");
extern void *csdl_map(void *address, size_t length, int protection, int flags, int descriptor, long offset)
    __asm__("mmap");
extern int csdl_unmap(void *address, size_t length) __asm__("munmap");
extern int csdl_library_information(void *handle, int request, void *result) __asm__("dlinfo");

// O_RDONLY | O_CLOEXEC, MFD_CLOEXEC, PROT_READ | PROT_WRITE, MAP_SHARED, and RTLD_DI_LINKMAP of Linux.
enum {
    CSDL_READ_ONLY = 02000000,
    CSDL_MEMORY_FILE_CLOSES = 1,
    CSDL_MAP_READ_WRITE = 3,
    CSDL_MAP_SHARED = 1,
    CSDL_LINK_MAP = 2,
};

// The first fields of struct link_map.
typedef struct { uintptr_t address; const char *name; } csdl_link_map;

typedef struct { int x, y, w, h; } csdl_rect;

// The first field of SDL_PixelFormat.
typedef struct { uint32_t format; } csdl_pixel_format;

// The first fields of SDL_Surface.
typedef struct {
    uint32_t flags;
    csdl_pixel_format *format;
    int w, h, pitch;
    void *pixels;
} csdl_surface;

// SDL_Event: 56 bytes on 64-bit systems; the members in use differ by type.
typedef union {
    uint32_t type;
    struct { uint32_t type, timestamp, window; uint8_t event, padding[3]; int32_t data1, data2; } window;
    struct {
        uint32_t type, timestamp, window;
        uint8_t state, is_repeated, padding[2];
        int32_t scancode, symbol;
        uint16_t modifiers;
    } key;
    struct { uint32_t type, timestamp, window, mouse; uint8_t button, state, clicks, padding; int32_t x, y; } button;
    uint8_t bytes[128];
} csdl_event;

// SDL_DisplayMode.
typedef struct { uint32_t format; int w, h, refresh_rate; void *driver; } csdl_display_mode;

// SDL_SysWMinfo; of its union only the display is declared, with which the structures of X11 and Wayland begin, and the
// surface, which follows it in that of Wayland.
typedef struct {
    uint8_t major, minor, patch;
    int subsystem;
    void *display;
    void *surface;
    uint8_t padding[56];
} csdl_system_info;

enum {
    CSDL_INIT_VIDEO = 0x20,
    CSDL_WINDOW_FULLSCREEN_DESKTOP = 0x1001,
    CSDL_WINDOW_HIDDEN = 0x8,
    CSDL_WINDOW_RESIZABLE = 0x20,
    CSDL_WINDOW_MINIMIZED = 0x40,
    CSDL_WINDOW_ALLOW_HIGHDPI = 0x2000,
    CSDL_POSITION_CENTERED = 0x2FFF0000,

    CSDL_EVENT_QUIT = 0x100,
    CSDL_EVENT_WINDOW = 0x200,
    CSDL_EVENT_KEY_DOWN = 0x300,
    CSDL_EVENT_BUTTON_DOWN = 0x401,
    CSDL_EVENT_RENDER_TARGETS_RESET = 0x2000,
    CSDL_EVENT_RENDER_DEVICE_RESET = 0x2001,

    CSDL_WINDOW_EXPOSED = 3,
    CSDL_WINDOW_SIZE_CHANGED = 6,
    CSDL_WINDOW_CLOSE = 14,
    CSDL_WINDOW_DISPLAY_CHANGED = 18,

    CSDL_RENDERER_ACCELERATED = 2,
    CSDL_RENDERER_VSYNC = 4,
    CSDL_TEXTURE_STREAMING = 1,
    CSDL_SYSTEM_X11 = 2,
    CSDL_SYSTEM_WAYLAND = 6,
};
// SDL_PIXELFORMAT_RGB888 and SDL_PIXELFORMAT_ARGB8888, which in memory are B, G, R and X or A, and
// SDL_PIXELFORMAT_IYUV.
#define CSDL_PIXELS_XRGB 0x16161804u
#define CSDL_PIXELS_ARGB 0x16362004u
#define CSDL_PIXELS_I420 0x56555949u
// SDL_YUV_CONVERSION_MODE.
enum { CSDL_YUV_BT601 = 1, CSDL_YUV_BT709 = 2 };

// All functions in use, by their names without the prefix SDL_.
#define CSDL_FUNCTIONS(F) \
    F(int, InitSubSystem, (uint32_t)) \
    F(void, QuitSubSystem, (uint32_t)) \
    F(const char *, GetError, (void)) \
    F(int, SetHint, (const char *, const char *)) \
    F(const char *, GetCurrentVideoDriver, (void)) \
    F(void *, CreateWindow, (const char *, int, int, int, int, uint32_t)) \
    F(void, DestroyWindow, (void *)) \
    F(uint32_t, GetWindowID, (void *)) \
    F(void, SetWindowTitle, (void *, const char *)) \
    F(void, GetWindowSize, (void *, int *, int *)) \
    F(void, SetWindowSize, (void *, int, int)) \
    F(void, SetWindowPosition, (void *, int, int)) \
    F(void, ShowWindow, (void *)) \
    F(int, SetWindowFullscreen, (void *, uint32_t)) \
    F(int, GetDisplayUsableBounds, (int, csdl_rect *)) \
    F(uint32_t, GetWindowFlags, (void *)) \
    F(int, GetWindowDisplayIndex, (void *)) \
    F(int, GetCurrentDisplayMode, (int, csdl_display_mode *)) \
    F(int, GetWindowWMInfo, (void *, csdl_system_info *)) \
    F(csdl_surface *, GetWindowSurface, (void *)) \
    F(int, UpdateWindowSurface, (void *)) \
    F(int, PollEvent, (csdl_event *)) \
    F(void *, CreateRenderer, (void *, int, uint32_t)) \
    F(void, DestroyRenderer, (void *)) \
    F(int, GetRendererOutputSize, (void *, int *, int *)) \
    F(void *, CreateTexture, (void *, uint32_t, int, int, int)) \
    F(void, DestroyTexture, (void *)) \
    F(int, UpdateYUVTexture, \
        (void *, const csdl_rect *, const uint8_t *, int, const uint8_t *, int, const uint8_t *, int)) \
    F(void, SetYUVConversionMode, (int)) \
    F(int, SetRenderDrawColor, (void *, uint8_t, uint8_t, uint8_t, uint8_t)) \
    F(int, RenderClear, (void *)) \
    F(int, RenderCopyEx, \
        (void *, void *, const csdl_rect *, const csdl_rect *, double, const void *, int)) \
    F(void, RenderPresent, (void *)) \
    F(void *, GL_GetProcAddress, (const char *))

#define CSDL_MEMBER(result, name, arguments) result (*name) arguments;
typedef struct {
    CSDL_FUNCTIONS(CSDL_MEMBER)
} csdl_library;
#undef CSDL_MEMBER

// Finds the functions of a library that was loaded. Returns 1 if it has all of them; otherwise 0, and `reason` is the
// error of the dynamic linker.
static inline int csdl_find(csdl_library *library, void *handle, const char **reason) {
    if (!handle) {
        *reason = dlerror();
        return 0;
    }
#define CSDL_FIND(result, name, arguments) \
    library->name = (result(*) arguments)dlsym(handle, "SDL_" #name); \
    if (!library->name) { \
        *reason = dlerror(); \
        return 0; \
    }
    CSDL_FUNCTIONS(CSDL_FIND)
#undef CSDL_FIND
    return 1;
}

// Loads the library. Returns 1 if it is installed with all functions; otherwise 0, and `reason` is the error of the
// dynamic linker.
static inline int csdl_load(csdl_library *library, const char **reason) {
    return csdl_find(library, dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_LOCAL), reason);
}

// Loads the library once more, with state of its own, from a copy of its file in memory: the dynamic linker recognizes a
// library by its file and by its path. `number` is the number of the copy, from 1 to 32. Returns 1 if it was loaded;
// otherwise 0, and `reason` is the error.
static inline int csdl_load_copy(csdl_library *library, int number, const char **reason) {
    void *handle = dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
    csdl_link_map *map = NULL;
    if (!handle || csdl_library_information(handle, CSDL_LINK_MAP, &map) != 0) {
        *reason = dlerror();
        return 0;
    }
    int source = csdl_open_file(map->name, CSDL_READ_ONLY);
    int target = csdl_new_memory_file("libSDL2", CSDL_MEMORY_FILE_CLOSES);
    dlclose(handle);
    char bytes[65536];
    long count = source < 0 || target < 0 ? -1 : 0;
    while (count >= 0 && (count = csdl_read(source, bytes, sizeof bytes)) > 0) {
        for (long written = 0, step; written < count; written += step) {
            step = csdl_write(target, bytes + written, (size_t)(count - written));
            if (step < 0) {
                count = -1;
                break;
            }
        }
    }
    int result = 0;
    if (count == 0) {
        // An earlier copy may have had the same descriptor, so each path has another number of slashes.
        char path[64];
        __builtin_snprintf(
            path, sizeof path, "/proc/self/fd%.*s%d", number, "////////////////////////////////", target);
        result = csdl_find(library, dlopen(path, RTLD_NOW | RTLD_LOCAL), reason);
    } else {
        *reason = "the library cannot be copied";
    }
    if (source >= 0) csdl_close_file(source);
    if (target >= 0) csdl_close_file(target);
    return result;
}

// Returns GL_RENDERER of the current OpenGL context; NULL without one.
static inline const char *csdl_gl_renderer(const csdl_library *library) {
    const uint8_t *(*get)(unsigned) = (const uint8_t *(*)(unsigned))library->GL_GetProcAddress("glGetString");
    return get ? (const char *)get(0x1F01) : NULL;
}

// Ignores X protocol errors, for example those for a window that has just been closed. Xlib's default handler ends the
// process.
static inline int csdl_pass_over_error(void *display, void *error) {
    (void)display;
    (void)error;
    return 0;
}

// Xlib's XIOErrorHandler, which is called when the connection to the X server is lost. Xlib ends the process if it
// returns.
typedef int (*csdl_broken)(void *display);

// Sets the X error handlers. It must be called before SDL opens a display, because errors are already possible then.
// Xlib stays loaded afterwards, so that the handlers remain set; SDL would unload it after the last window. Returns the
// previous I/O error handler, NULL if there is none.
static inline csdl_broken csdl_follow_x_errors(csdl_broken broken) {
    void *handle = dlopen("libX11.so.6", RTLD_NOW);
    if (!handle) return NULL;
    void *(*judge)(int (*)(void *, void *)) =
        (void *(*)(int (*)(void *, void *)))dlsym(handle, "XSetErrorHandler");
    csdl_broken (*follow)(csdl_broken) = (csdl_broken (*)(csdl_broken))dlsym(handle, "XSetIOErrorHandler");
    if (judge) judge(csdl_pass_over_error);
    return follow ? follow(broken) : NULL;
}

// Returns the file descriptor of the display connection, which is readable when there are events; -1 if it is not
// available.
static inline int csdl_connection(const csdl_system_info *information) {
    int is_x11 = information->subsystem == CSDL_SYSTEM_X11;
    if (!information->display || (!is_x11 && information->subsystem != CSDL_SYSTEM_WAYLAND)) return -1;
    void *handle = dlopen(is_x11 ? "libX11.so.6" : "libwayland-client.so.0", RTLD_NOW | RTLD_NOLOAD);
    if (!handle) return -1;
    int (*number)(void *) =
        (int (*)(void *))dlsym(handle, is_x11 ? "XConnectionNumber" : "wl_display_get_fd");
    int connection = number ? number(information->display) : -1;
    dlclose(handle);
    return connection;
}

// The memory of a window on Wayland, which the compositor shares (wl_shm). SDL 2 has no such memory, so its surface gets
// buffers of our own, as the program of a window may do that SDL does not draw. The library is the one that SDL has
// loaded. All functions are for the thread of SDL.
enum { CSDL_WAYLAND_BUFFERS = 4 };

typedef struct {
    void *buffer;
    uint8_t *pixels;
    size_t length;
    int width, height;
    // Whether the compositor reads it.
    int is_busy;
} csdl_wayland_buffer;

typedef struct {
    void *library, *display, *surface, *queue, *registry, *shm;
    uint32_t shm_name;
    csdl_wayland_buffer buffers[CSDL_WAYLAND_BUFFERS];

    const void *shm_interface, *pool_interface, *buffer_interface;
    void (*marshal)(void *, uint32_t, ...);
    void *(*construct)(void *, uint32_t, const void *, ...);
    void *(*construct_versioned)(void *, uint32_t, const void *, uint32_t, ...);
    int (*listen)(void *, void (**)(void), void *);
    void (*destroy)(void *);
    void (*destroy_queue)(void *);
    int (*dispatch)(void *, void *);
    int (*flush)(void *);
    int (*error)(void *);
} csdl_wayland;

static inline void csdl_wayland_global(
    void *data, void *registry, uint32_t name, const char *interface, uint32_t version) {
    (void)registry;
    (void)version;
    if (strcmp(interface, "wl_shm") == 0) ((csdl_wayland *)data)->shm_name = name;
}

static inline void csdl_wayland_global_removed(void *data, void *registry, uint32_t name) {
    (void)data;
    (void)registry;
    (void)name;
}

static inline void csdl_wayland_format(void *data, void *shm, uint32_t format) {
    (void)data;
    (void)shm;
    (void)format;
}

static inline void csdl_wayland_released(void *data, void *buffer) {
    (void)buffer;
    ((csdl_wayland_buffer *)data)->is_busy = 0;
}

static inline void csdl_wayland_discard(csdl_wayland *wayland, csdl_wayland_buffer *buffer) {
    if (buffer->buffer) {
        wayland->marshal(buffer->buffer, 0);
        wayland->destroy(buffer->buffer);
    }
    if (buffer->pixels) csdl_unmap(buffer->pixels, buffer->length);
    memset(buffer, 0, sizeof *buffer);
}

static inline void csdl_wayland_close(csdl_wayland *wayland) {
    for (int index = 0; index < CSDL_WAYLAND_BUFFERS; index++)
        csdl_wayland_discard(wayland, &wayland->buffers[index]);
    if (wayland->shm) wayland->destroy(wayland->shm);
    if (wayland->registry) wayland->destroy(wayland->registry);
    if (wayland->queue) wayland->destroy_queue(wayland->queue);
    if (wayland->library) dlclose(wayland->library);
    __builtin_free(wayland);
}

// Returns the memory of a window without buffers; NULL if the window is not one of Wayland or the compositor is gone.
static inline csdl_wayland *csdl_wayland_open(const csdl_system_info *information) {
    static void (*registry_events[])(void) = {
        (void (*)(void))csdl_wayland_global, (void (*)(void))csdl_wayland_global_removed};
    static void (*shm_events[])(void) = {(void (*)(void))csdl_wayland_format};
    if (information->subsystem != CSDL_SYSTEM_WAYLAND || !information->display || !information->surface) return NULL;
    csdl_wayland *wayland = (csdl_wayland *)__builtin_calloc(1, sizeof(csdl_wayland));
    if (!wayland) return NULL;
    (wayland->display = information->display), (wayland->surface = information->surface);
    void *library = wayland->library = dlopen("libwayland-client.so.0", RTLD_NOW | RTLD_NOLOAD);
    void *(*create_queue)(void *) = NULL, *(*wrap)(void *) = NULL;
    void (*set_queue)(void *, void *) = NULL, (*unwrap)(void *) = NULL;
    int (*round_trip)(void *, void *) = NULL;
    const void *registry_interface = NULL;
    int is_complete = library != NULL;
#define CSDL_WAYLAND_FIND(member, name) \
    if (is_complete) is_complete = (*(void **)&(member) = dlsym(library, name)) != NULL;
    CSDL_WAYLAND_FIND(wayland->marshal, "wl_proxy_marshal")
    CSDL_WAYLAND_FIND(wayland->construct, "wl_proxy_marshal_constructor")
    CSDL_WAYLAND_FIND(wayland->construct_versioned, "wl_proxy_marshal_constructor_versioned")
    CSDL_WAYLAND_FIND(wayland->listen, "wl_proxy_add_listener")
    CSDL_WAYLAND_FIND(wayland->destroy, "wl_proxy_destroy")
    CSDL_WAYLAND_FIND(wayland->destroy_queue, "wl_event_queue_destroy")
    CSDL_WAYLAND_FIND(wayland->dispatch, "wl_display_dispatch_queue_pending")
    CSDL_WAYLAND_FIND(wayland->flush, "wl_display_flush")
    CSDL_WAYLAND_FIND(wayland->error, "wl_display_get_error")
    CSDL_WAYLAND_FIND(create_queue, "wl_display_create_queue")
    CSDL_WAYLAND_FIND(wrap, "wl_proxy_create_wrapper")
    CSDL_WAYLAND_FIND(unwrap, "wl_proxy_wrapper_destroy")
    CSDL_WAYLAND_FIND(set_queue, "wl_proxy_set_queue")
    CSDL_WAYLAND_FIND(round_trip, "wl_display_roundtrip_queue")
    CSDL_WAYLAND_FIND(registry_interface, "wl_registry_interface")
    CSDL_WAYLAND_FIND(wayland->shm_interface, "wl_shm_interface")
    CSDL_WAYLAND_FIND(wayland->pool_interface, "wl_shm_pool_interface")
    CSDL_WAYLAND_FIND(wayland->buffer_interface, "wl_buffer_interface")
#undef CSDL_WAYLAND_FIND
    // Events of our objects must not wait for SDL, and SDL's must not be dispatched here.
    void *wrapper = is_complete ? wrap(wayland->display) : NULL;
    if (wrapper && (wayland->queue = create_queue(wayland->display))) {
        set_queue(wrapper, wayland->queue);
        // wl_display.get_registry
        wayland->registry = wayland->construct(wrapper, 1, registry_interface, NULL);
    }
    if (wrapper) unwrap(wrapper);
    if (wayland->registry && wayland->listen(wayland->registry, registry_events, wayland) == 0
        && round_trip(wayland->display, wayland->queue) >= 0 && wayland->shm_name) {
        // wl_registry.bind
        wayland->shm = wayland->construct_versioned(
            wayland->registry, 0, wayland->shm_interface, 1, wayland->shm_name, "wl_shm", 1, NULL);
        if (wayland->shm && wayland->listen(wayland->shm, shm_events, NULL) == 0) return wayland;
    }
    csdl_wayland_close(wayland);
    return NULL;
}

// Returns whether there is a buffer that the compositor does not read. SDL reads the events of all queues.
static inline int csdl_wayland_is_ready(csdl_wayland *wayland) {
    wayland->dispatch(wayland->display, wayland->queue);
    for (int index = 0; index < CSDL_WAYLAND_BUFFERS; index++)
        if (!wayland->buffers[index].is_busy) return 1;
    return 0;
}

// Returns a buffer of a size that the compositor does not read; NULL if it reads all of them or there is no memory.
// `is_new` is whether it has no content.
static inline csdl_wayland_buffer *csdl_wayland_next(csdl_wayland *wayland, int width, int height, int *is_new) {
    static void (*buffer_events[])(void) = {(void (*)(void))csdl_wayland_released};
    csdl_wayland_buffer *buffer = NULL;
    for (int index = 0; index < CSDL_WAYLAND_BUFFERS && !buffer; index++)
        if (!wayland->buffers[index].is_busy) buffer = &wayland->buffers[index];
    if (!buffer || width <= 0 || height <= 0 || width > 32768 || height > 32768) return NULL;
    *is_new = !buffer->buffer || buffer->width != width || buffer->height != height;
    if (!*is_new) return buffer;
    csdl_wayland_discard(wayland, buffer);
    size_t length = (size_t)width * (size_t)height * 4;
    if (length > INT32_MAX) return NULL;
    int descriptor = csdl_new_memory_file("pcast-window", CSDL_MEMORY_FILE_CLOSES);
    if (descriptor < 0) return NULL;
    // MAP_FAILED is -1.
    uint8_t *pixels = csdl_set_length(descriptor, (long)length) == 0
        ? (uint8_t *)csdl_map(NULL, length, CSDL_MAP_READ_WRITE, CSDL_MAP_SHARED, descriptor, 0) : (uint8_t *)-1;
    if (pixels != (uint8_t *)-1) {
        (buffer->pixels = pixels), (buffer->length = length), (buffer->width = width), (buffer->height = height);
        // wl_shm.create_pool, wl_shm_pool.create_buffer with the format XRGB8888, and wl_shm_pool.destroy
        void *pool = wayland->construct(
            wayland->shm, 0, wayland->pool_interface, NULL, descriptor, (int32_t)length);
        if (pool) {
            buffer->buffer = wayland->construct(
                pool, 0, wayland->buffer_interface, NULL, 0, width, height, width * 4, 1u);
            wayland->marshal(pool, 1);
            wayland->destroy(pool);
        }
        if (!buffer->buffer || wayland->listen(buffer->buffer, buffer_events, buffer) != 0)
            csdl_wayland_discard(wayland, buffer);
    }
    csdl_close_file(descriptor);
    return buffer->buffer ? buffer : NULL;
}

// Shows a buffer. Returns 1; 0 if the connection to the compositor is broken.
static inline int csdl_wayland_show(csdl_wayland *wayland, csdl_wayland_buffer *buffer) {
    buffer->is_busy = 1;
    // wl_surface.attach, damage and commit
    wayland->marshal(wayland->surface, 1, buffer->buffer, 0, 0);
    wayland->marshal(wayland->surface, 2, 0, 0, buffer->width, buffer->height);
    wayland->marshal(wayland->surface, 6);
    wayland->flush(wayland->display);
    return wayland->error(wayland->display) == 0;
}

#endif
