import CXCB
import Glibc

/// A display's name in its parts, and what to say when nobody answers to it.
struct XServerName: CustomStringConvertible {
    /// Empty for this machine.
    let host: String
    let display: Int
    let screen: Int

    /// - Parameter name: nil for `$DISPLAY`. Nil when it is no display's name, or there is none.
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

    /// Why there is no connection, for people.
    ///
    /// - Parameters:
    ///   - error: XCB's, of `xcb_connection_has_error`.
    ///   - display: as it was asked for; nil for `$DISPLAY`.
    static func failure(
        _ error: Int32, display: String?, environment: (String) -> String? = Self.variable
    ) -> DeviceError {
        let set = environment("DISPLAY").flatMap { $0.isEmpty ? nil : $0 }
        guard let name = display ?? set else {
            if let wayland = environment("WAYLAND_DISPLAY"), !wayland.isEmpty {
                return .notFound(
                    "screen",
                    lookedIn:
                        "DISPLAY, which is not set (this is a Wayland session, \(wayland), without X: its screens "
                        + "are shared by no protocol that is spoken here)")
            }
            return .notFound("screen", lookedIn: "DISPLAY, which is not set")
        }
        let place = display == nil ? "DISPLAY (\(name))" : name
        guard let parts = XServerName(name), error != XCB_CONN_CLOSED_PARSE_ERR else {
            return .unusable("screen:\(name)", reason: "no X display is named so; one is like :0 or host:10.0")
        }
        if error == XCB_CONN_CLOSED_INVALID_SCREEN {
            return .notFound("screen \(parts.screen)", lookedIn: "the X server of \(place)")
        }
        if parts.answers { return .forbidden("screen:\(name)", group: nil) }
        return .notFound("screen", lookedIn: "\(place): no X server answers there")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Whether a server of this machine listens, which then has refused us: it wants a cookie (`XAUTHORITY`) that we do
    /// not have.
    private var answers: Bool {
        guard host.isEmpty || host == "unix" else { return false }
        let path = "/tmp/.X11-unix/X\(display)"
        return Self.listens(path) || Self.listens("\0" + path)
    }

    /// - Parameter path: of a socket; with a zero before it, in Linux's abstract namespace.
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
