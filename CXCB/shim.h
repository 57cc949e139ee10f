#pragma once

#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <xcb/composite.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>

// What an extension is called by is a global that libxcb writes to, which Swift does not take as a constant. Each answers
// what the server says of the extension, in memory of the connection's; asks the server the first time.

static inline const xcb_query_extension_reply_t *cxcb_shm(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_shm_id);
}

static inline const xcb_query_extension_reply_t *cxcb_fixes(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_xfixes_id);
}

static inline const xcb_query_extension_reply_t *cxcb_randr(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_randr_id);
}

static inline const xcb_query_extension_reply_t *cxcb_composite(xcb_connection_t *connection) {
    return xcb_get_extension_data(connection, &xcb_composite_id);
}
