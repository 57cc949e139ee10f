// Lets sway and xdg-desktop-portal-wlr 0.7.0 run as root and without a graphics card. It is loaded by LD_PRELOAD:
//     cc -shared -fPIC -o desktop_preload.so desktop_preload.c
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct wl_proxy;

// sway ends if it could become root again after it has given up the privileges of a setuid program.
int setuid(uid_t user) {
    (void)user;
    errno = EPERM;
    return -1;
}

int setgid(gid_t group) {
    (void)group;
    errno = EPERM;
    return -1;
}

// The portal requires that the compositor offers DMA-BUF for frames, although it also captures to shared memory. A
// compositor without a graphics card does not offer it. So the event is sent to the portal when it listens to a frame.
// For the format XRGB8888, there are no modifiers then, and the portal offers shared memory alone.
int wl_proxy_add_listener(struct wl_proxy *proxy, void (**events)(void), void *data) {
    enum { linuxDMABUF = 5, xrgb8888 = 0x34325258 };
    int (*original)(struct wl_proxy *, void (**)(void), void *) =
        (int (*)(struct wl_proxy *, void (**)(void), void *))dlsym(RTLD_NEXT, "wl_proxy_add_listener");
    const char *(*class)(struct wl_proxy *) = (const char *(*)(struct wl_proxy *))dlsym(RTLD_NEXT, "wl_proxy_get_class");
    int result = original(proxy, events, data);
    if (result == 0 && strcmp(class(proxy), "zwlr_screencopy_frame_v1") == 0)
        ((void (*)(void *, struct wl_proxy *, uint32_t, uint32_t, uint32_t))events[linuxDMABUF])(data, proxy, xrgb8888, 0, 0);
    return result;
}
