import CXCB
import PCastCore

/// A pending request for an image, through shared memory or the socket.
struct XImageRequest {
    private enum Cookie {
        case shared(xcb_shm_get_image_cookie_t, XSharedMemory)
        case sent(xcb_get_image_cookie_t)
    }

    private let cookie: Cookie
    private let byteCount: Int

    init(of server: XServer, _ target: ScreenTarget, into memory: XSharedMemory?) {
        let connection = server.connection
        let size = target.dimensions
        let border = target.pixmap == nil ? 0 : target.border
        let (left, top) = (Int16(clamping: target.left + border), Int16(clamping: target.top + border))
        let (width, height) = (UInt16(clamping: size.width), UInt16(clamping: size.height))
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        byteCount = target.layout.stride(width: size.width) * size.height
        // The image is named for each request, because a window gets another one when it is resized or becomes visible.
        if let pixmap = target.pixmap { xcb_composite_name_window_pixmap(connection, target.drawable, pixmap) }
        let image = target.pixmap ?? target.drawable
        if let memory {
            cookie = .shared(
                xcb_shm_get_image(connection, image, left, top, width, height, ~0, format, memory.segment, 0), memory)
        } else {
            cookie = .sent(xcb_get_image(connection, format, image, left, top, width, height, ~0))
        }
        if let pixmap = target.pixmap { xcb_free_pixmap(connection, pixmap) }
    }

    /// Waits for the image. `body` may draw on the bytes, which are valid only within it.
    func answer<Value>(_ server: XServer, _ body: (UnsafeMutableRawBufferPointer) -> Value) -> XReply<Value> {
        switch cookie {
        case .shared(let cookie, let memory):
            return server.answer({ xcb_shm_get_image_reply($0, cookie, $1) }) { _ in
                body(UnsafeMutableRawBufferPointer(start: memory.address, count: min(byteCount, memory.byteCount)))
            }
        case .sent(let cookie):
            return server.answer({ xcb_get_image_reply($0, cookie, $1) }) { reply in
                let count = Int(xcb_get_image_data_length(reply))
                return body(UnsafeMutableRawBufferPointer(start: xcb_get_image_data(reply), count: count))
            }
        }
    }

    /// Waits for the reply or the error and ignores it.
    func discard(_ server: XServer) { _ = answer(server) { _ in } }
}
