#ifndef PCAST_CSDL_SHIM_H
#define PCAST_CSDL_SHIM_H

// The part of SDL 2 (2.0.18 and later, Debian's libsdl2-2.0-0) that a video window requires. The library is loaded when
// the first window is opened, so that a build does not require its headers and a program without a window does not load
// it. The declarations are of SDL 2's stable ABI.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

// SDL_SysWMinfo; of its union only the display is declared, with which the structures of X11 and Wayland begin.
typedef struct {
    uint8_t major, minor, patch;
    int subsystem;
    void *display;
    uint8_t padding[64];
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

// Loads the library. Returns 1 if it is installed with all functions; otherwise 0, and `reason` is the error of the
// dynamic linker.
static inline int csdl_load(csdl_library *library, const char **reason) {
    void *handle = dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
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

#endif
