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

// The identifiers of extensions are global variables that libxcb modifies, which Swift does not import as constants.
// Each of these functions returns the server's information about an extension; the first call requests it from the
// server. The connection owns the memory.

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
