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

    /// Ends the current call on another thread and all later ones with `.disconnected`. The descriptor stays open until the
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
        return error.map { .refused(code: $0.pointee.error_code) } ?? .disconnected
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
    case disconnected
}

extension XReply {
    var value: Value? {
        if case .reply(let value) = self { return value }
        return nil
    }

    var isGone: Bool {
        if case .disconnected = self { return true }
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

/// A screen of a server, as of the time of the connection.
struct XScreen: Sendable {
    let root: xcb_window_t
    let rootVisual: xcb_visualid_t
    let rootDepth: UInt8
    /// The number of bits per pixel, and the alignment of rows in bits, by depth.
    let formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)]
    let visuals: [xcb_visualid_t: xcb_visualtype_t]
    let isLittleEndian: Bool

    static func all(of setup: UnsafePointer<xcb_setup_t>) -> [XScreen] {
        var formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)] = [:]
        var format = xcb_setup_pixmap_formats_iterator(setup)
        while format.rem > 0 {
            let known = format.data.pointee
            formats[known.depth] = (Int(known.bits_per_pixel), Int(known.scanline_pad))
            xcb_format_next(&format)
        }
        let isLittleEndian = setup.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue)
        var screens: [XScreen] = []
        var screen = xcb_setup_roots_iterator(setup)
        while screen.rem > 0 {
            screens.append(XScreen(screen.data, formats: formats, isLittleEndian: isLittleEndian))
            xcb_screen_next(&screen)
        }
        return screens
    }

    private init(
        _ screen: UnsafeMutablePointer<xcb_screen_t>, formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)],
        isLittleEndian: Bool
    ) {
        root = screen.pointee.root
        rootVisual = screen.pointee.root_visual
        rootDepth = screen.pointee.root_depth
        self.formats = formats
        self.isLittleEndian = isLittleEndian
        var visuals: [xcb_visualid_t: xcb_visualtype_t] = [:]
        var depth = xcb_screen_allowed_depths_iterator(screen)
        while depth.rem > 0 {
            var visual = xcb_depth_visuals_iterator(depth.data)
            while visual.rem > 0 {
                visuals[visual.data.pointee.visual_id] = visual.data.pointee
                xcb_visualtype_next(&visual)
            }
            xcb_depth_next(&depth)
        }
        self.visuals = visuals
    }

    /// Returns the pixel layout of drawables with a depth and a visual; nil if it is not supported, e.g., with a
    /// palette.
    func pixels(depth: UInt8, visual: xcb_visualid_t) -> XPixelLayout? {
        guard let format = formats[depth], let visual = visuals[visual] else { return nil }
        return XPixelLayout(
            bitsPerPixel: format.bitsPerPixel, scanlinePad: format.scanlinePad, red: visual.red_mask,
            green: visual.green_mask, blue: visual.blue_mask, isLittleEndian: isLittleEndian)
    }
}

/// The parts of a display's name, and the error if there is no connection.
struct XServerName: CustomStringConvertible {
    /// The host; empty for this machine.
    let host: String
    let display: Int
    let screen: Int

    /// Parses a name; nil for `$DISPLAY`. Returns nil for an invalid or missing name.
    init?(_ name: String?) {
        var host: UnsafeMutablePointer<CChar>?
        var (display, screen): (Int32, Int32) = (0, 0)
        guard xcb_parse_display(name, &host, &display, &screen) != 0 else { return nil }
        defer { free(host) }
        self.host = host.map { String(cString: $0) } ?? ""
        self.display = Int(display)
        self.screen = Int(screen)
    }

    var description: String { "\(host):\(display).\(screen)" }

    /// Returns the reason for a failed connection. `error` is the result of `xcb_connection_has_error`. `display` is
    /// the requested one; nil for `$DISPLAY`.
    static func failure(
        _ error: Int32, display: String?, environment: (String) -> String? = Self.variable
    ) -> DeviceError {
        let set = environment("DISPLAY").flatMap { $0.isEmpty ? nil : $0 }
        guard let name = display ?? set else {
            if let wayland = environment("WAYLAND_DISPLAY"), !wayland.isEmpty {
                return .notFound(
                    "screen",
                    lookedIn:
                        "DISPLAY, which is not set (this is a Wayland session, \(wayland), without X, "
                        + "and no desktop portal responds: install xdg-desktop-portal and a backend)")
            }
            return .notFound("screen", lookedIn: "DISPLAY, which is not set")
        }
        let location = display == nil ? "DISPLAY (\(name))" : name
        guard let parts = XServerName(name), error != XCB_CONN_CLOSED_PARSE_ERR else {
            return .unusable("screen:\(name)", reason: "it is not an X display; write :0 or host:10.0")
        }
        if error == XCB_CONN_CLOSED_INVALID_SCREEN {
            return .notFound("screen \(parts.screen)", lookedIn: "the X server of \(location)")
        }
        if parts.answers { return .forbidden("screen:\(name)", group: nil) }
        return .notFound("screen", lookedIn: "\(location): no X server responds there")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Whether a local server listens. It then has refused the connection, because it requires a cookie (`XAUTHORITY`).
    private var answers: Bool {
        guard host.isEmpty || host == "unix" else { return false }
        let path = "/tmp/.X11-unix/X\(display)"
        return Self.listens(path) || Self.listens("\0" + path)
    }

    /// Returns whether a socket listens at a path. A leading zero byte denotes Linux's abstract namespace.
    private static func listens(_ path: String) -> Bool {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count + (bytes.first == 0 ? 0 : 1)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(O_CLOEXEC), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(length)) == 0 }
        }
    }
}
