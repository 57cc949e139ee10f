import CXCB
import Glibc
import PCastIO
import PCastMedia

/// A connection to an X server through XCB, whose errors are values: nothing here ends the program, as Xlib's standard
/// handlers do. Used by one thread at a time, but for `interrupt`.
final class XServer: @unchecked Sendable {
    /// As people name it, with the screen: `:0.0`.
    let name: String
    let connection: OpaquePointer
    let screen: XScreen
    let screenCount: Int

    /// Extensions that the server has.
    let hasSharedMemory: Bool
    let hasPointerImage: Bool
    let hasWindowPixmaps: Bool
    let hasMonitors: Bool

    /// Connects, and blocks as long as that takes.
    ///
    /// - Parameter display: nil for `$DISPLAY`.
    /// - Throws: `.notFound`, `.forbidden` or `.unusable`.
    init(display: String?) throws(DeviceError) {
        var number: Int32 = 0
        let found: Result<(OpaquePointer, XScreen, Int), DeviceError> = BrokenPipe.blocked {
            // A connection that could not be made is a value too, and to be given back like any other.
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
            // Each extension wants to be told which version its client knows before it does anything.
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

    /// Ends a call that waits for the server on another thread, and every later one, with `.gone`. The descriptor stays
    /// open until the connection is given back, so that its number cannot be another's meanwhile.
    func interrupt() { shutdown(xcb_get_file_descriptor(connection), Int32(SHUT_RDWR)) }

    /// Whether the server has ended, or the connection to it.
    var isGone: Bool { xcb_connection_has_error(connection) != 0 }

    /// Waits for the reply to a request.
    func answer<Reply, Value>(
        _ wait: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<xcb_generic_error_t>?>) ->
            UnsafeMutablePointer<Reply>?,
        _ read: (UnsafeMutablePointer<Reply>) -> Value
    ) -> XAnswer<Value> { Self.answer(connection, wait, read) }

    private static func answer<Reply, Value>(
        _ connection: OpaquePointer,
        _ wait: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<xcb_generic_error_t>?>) ->
            UnsafeMutablePointer<Reply>?,
        _ read: (UnsafeMutablePointer<Reply>) -> Value
    ) -> XAnswer<Value> {
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        let reply = wait(connection, &error)
        defer {
            free(reply)
            free(error)
        }
        if let reply { return .reply(read(reply)) }
        return error.map { .refused(code: $0.pointee.error_code) } ?? .gone
    }

    /// Waits until the server has done a request that has no reply. Answers whether it did.
    func confirm(_ cookie: xcb_void_cookie_t) -> Bool {
        let error = xcb_request_check(connection, cookie)
        defer { free(error) }
        return error == nil && !isGone
    }

    /// Takes the events that have come, so that they do not pile up: each client gets some that it never asked for.
    func takeEvents() {
        while let event = xcb_poll_for_event(connection) { free(event) }
    }
}
