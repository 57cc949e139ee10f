import CXCB
import Glibc
import PCastCore
import PCastIO

/// A connection to an X server through XCB. Errors are values: unlike Xlib's default handlers, nothing ends the
/// process. Only one thread may use it at a time, except for `interrupt`.
final class XServer: @unchecked Sendable {
    /// The display with its screen, such as `:0.0`.
    let name: String
    let connection: OpaquePointer
    let screen: XScreen
    let screenCount: Int

    /// The extensions that the server supports.
    let hasSharedMemory: Bool
    let hasPointerImage: Bool
    let hasWindowPixmaps: Bool
    let hasMonitors: Bool

    /// Connects to a display; nil for `$DISPLAY`. It blocks until the server has answered. Throws `DeviceError`:
    /// `.notFound`, `.forbidden` or `.unusable`.
    init(display: String?) throws(DeviceError) {
        var number: Int32 = 0
        let found: Result<(OpaquePointer, XScreen, Int), DeviceError> = BrokenPipe.blocked {
            // A failed connection is an object, too, and must be disconnected.
            guard let connection = xcb_connect(display, &number) else {
                return .failure(XServerName.failure(XCB_CONN_CLOSED_MEM_INSUFFICIENT, display: display))
            }
            let error = xcb_connection_has_error(connection)
            guard error == 0, let setup = xcb_get_setup(connection) else {
                xcb_disconnect(connection)
                return .failure(XServerName.failure(error, display: display))
            }
            let screens = XScreen.all(of: setup)
            guard screens.indices.contains(Int(number)) else {
                xcb_disconnect(connection)
                return .failure(XServerName.failure(XCB_CONN_CLOSED_INVALID_SCREEN, display: display))
            }
            return .success((connection, screens[Int(number)], screens.count))
        }
        (connection, screen, screenCount) = try found.get()
        name = XServerName(display)?.description ?? display ?? "DISPLAY"
        let connection = connection
        let has = BrokenPipe.blocked {
            // Each extension requires the client's version before other requests.
            let fixes = cxcb_fixes(connection)?.pointee.present ?? 0 != 0
            let composite = cxcb_composite(connection)?.pointee.present ?? 0 != 0
            let randr = cxcb_randr(connection)?.pointee
            if fixes { xcb_discard_reply(connection, xcb_xfixes_query_version(connection, 4, 0).sequence) }
            if composite { xcb_discard_reply(connection, xcb_composite_query_version(connection, 0, 4).sequence) }
            var hasMonitors = false
            if let randr, randr.present != 0 {
                let cookie = xcb_randr_query_version(connection, 1, 5)
                let version = Self.answer(connection, { xcb_randr_query_version_reply($0, cookie, $1) }) {
                    ($0.pointee.major_version, $0.pointee.minor_version)
                }.value
                hasMonitors = version.map { $0 >= (1, 5) } ?? false
            }
            let shm = cxcb_shm(connection)?.pointee.present ?? 0 != 0
            return (fixes, composite, shm, hasMonitors)
        }
        (hasPointerImage, hasWindowPixmaps, hasSharedMemory, hasMonitors) = has
    }

    deinit { xcb_disconnect(connection) }

    /// Ends the current call on another thread and all later ones with `.gone`. The descriptor stays open until the
    /// connection is released, so that its number is not reused meanwhile.
    func interrupt() { shutdown(xcb_get_file_descriptor(connection), Int32(SHUT_RDWR)) }

    /// Whether the connection is closed.
    var isGone: Bool { xcb_connection_has_error(connection) != 0 }

    /// Waits for the reply to a request.
    func answer<Reply, Value>(
        _ wait: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<xcb_generic_error_t>?>) ->
            UnsafeMutablePointer<Reply>?,
        _ read: (UnsafeMutablePointer<Reply>) -> Value
    ) -> XReply<Value> { Self.answer(connection, wait, read) }

    private static func answer<Reply, Value>(
        _ connection: OpaquePointer,
        _ wait: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<xcb_generic_error_t>?>) ->
            UnsafeMutablePointer<Reply>?,
        _ read: (UnsafeMutablePointer<Reply>) -> Value
    ) -> XReply<Value> {
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        let reply = wait(connection, &error)
        defer {
            free(reply)
            free(error)
        }
        if let reply { return .reply(read(reply)) }
        return error.map { .refused(code: $0.pointee.error_code) } ?? .gone
    }

    /// Waits until the server has processed a request without a reply. Returns whether it succeeded.
    func confirm(_ cookie: xcb_void_cookie_t) -> Bool {
        let error = xcb_request_check(connection, cookie)
        defer { free(error) }
        return error == nil && !isGone
    }

    /// Discards pending events, because every client receives some without request, and they would accumulate.
    func takeEvents() {
        while let event = xcb_poll_for_event(connection) { free(event) }
    }
}

/// The result of a request to a server.
enum XReply<Value> {
    case reply(Value)
    /// An error with its code, such as 3 for BadWindow (X11 protocol, appendix B).
    case refused(code: UInt8)
    /// The connection is closed.
    case gone
}

extension XReply {
    var value: Value? {
        if case .reply(let value) = self { return value }
        return nil
    }

    var isGone: Bool {
        if case .gone = self { return true }
        return false
    }
}

/// The error codes that capturing handles.
enum XErrorCode {
    static let badMatch: UInt8 = 8
    static let badDrawable: UInt8 = 9
}

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
