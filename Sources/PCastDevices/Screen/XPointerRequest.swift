import CXCB

/// Pending requests for the image and the position of the pointer.
struct XPointerRequest {
    private let pointerCookie: xcb_query_pointer_cookie_t
    private let image: xcb_xfixes_get_cursor_image_cookie_t

    init(of server: XServer, on drawable: xcb_drawable_t) {
        pointerCookie = xcb_query_pointer(server.connection, drawable)
        image = xcb_xfixes_get_cursor_image(server.connection)
    }

    /// Waits for both. Returns nil if the pointer is not on this screen. `left` and `top` are the origin of the
    /// captured area in the drawable.
    func answer(_ server: XServer, left: Int, top: Int) -> XPointer? {
        let found = server.answer({ xcb_query_pointer_reply($0, pointerCookie, $1) }) { reply -> (x: Int, y: Int)? in
            guard reply.pointee.same_screen != 0 else { return nil }
            return (Int(reply.pointee.win_x) - left, Int(reply.pointee.win_y) - top)
        }
        let pointer = server.answer({ xcb_xfixes_get_cursor_image_reply($0, image, $1) }) { reply -> XPointer? in
            guard case .reply(let spot?) = found else { return nil }
            let count = Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply))
            let (width, height) = (Int(reply.pointee.width), Int(reply.pointee.height))
            guard count >= width * height, let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply) else {
                return nil
            }
            return XPointer(
                width: width, height: height, left: spot.x - Int(reply.pointee.xhot),
                top: spot.y - Int(reply.pointee.yhot),
                pixels: Array(UnsafeBufferPointer(start: pixels, count: width * height)))
        }
        return pointer.value ?? nil
    }
}
