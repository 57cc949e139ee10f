import CXCB
import Glibc

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
                        + "and screen capture requires X)")
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
