import PCastCore
import PCastIO

/// The interface `org.freedesktop.portal.ScreenCast` of the desktop portal. Only one thread may use it at a time.
///
/// A request returns an object at once, and the user's response follows as the signal `Response` of that object.
final class ScreenCastPortal {
    /// The reason for which a request did not succeed.
    enum Failure: Error, Hashable {
        /// The user refused the dialog.
        case refused
        /// The user or the desktop ended the session.
        case closed
        /// There is no response in time.
        case timeout
        case cancelled
        case failed(String)
    }

    /// A stream of the user's choice.
    struct Stream: Hashable {
        /// The identifier of the PipeWire node.
        var node: UInt32
        /// The size; nil if the portal does not report it.
        var dimensions: Dimensions?
    }

    /// The time for each response, including the user's response to the dialog.
    static let timeout = TimeSpan.seconds(30)

    static let service = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.portal.ScreenCast"

    /// The version from which the portal restores a choice.
    static let restoringVersion = 4

    /// The interval at which arrived signals are read.
    private static let interval = TimeSpan.milliseconds(20)

    private let bus: DBusConnection
    private let timeout: TimeSpan
    private let isCancelled: () -> Bool
    private let sleep = CancellableSleep()
    private var requestCount = 0
    private var session: String?

    /// Connects to the bus. `isCancelled` ends a request. Throws the errors of `DBusConnection`.
    init(timeout: TimeSpan = ScreenCastPortal.timeout, isCancelled: @escaping () -> Bool = { false })
        throws(DeviceError)
    {
        bus = try DBusConnection()
        self.timeout = timeout
        self.isCancelled = isCancelled
        bus.follow("type='signal',sender='\(Self.service)',interface='org.freedesktop.portal.Request'")
        bus.follow("type='signal',sender='\(Self.service)',interface='org.freedesktop.portal.Session'")
        bus.follow("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'")
    }

    deinit { close() }

    /// Returns the areas that the portal offers, and its version. Throws `DBusFailure` if there is no portal or no
    /// response.
    func properties(within timeout: TimeSpan) throws(DBusFailure) -> (
        areas: [PortalSpecification.Area], version: Int
    ) {
        let method = DBusMethod(
            service: Self.service, path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "GetAll")
        let found = try bus.call(method, [.text(Self.interface)], within: timeout).first?.options ?? [:]
        guard let mask = found["AvailableSourceTypes"]?.number else {
            throw DBusFailure(name: "", reason: "\(Self.interface) reports no areas")
        }
        let areas = PortalSpecification.Area.allCases.filter { mask & $0.bit != 0 }
        return (areas, found["version"]?.number ?? 1)
    }

    /// Opens a session: the user chooses the area in a dialog, unless a token restores a former choice. Returns the
    /// stream, and the token for the next session. Throws `Failure`.
    func open(
        _ specification: PortalSpecification, token: String?
    ) throws(Failure) -> (stream: Stream, token: String?) {
        let offer: (areas: [PortalSpecification.Area], version: Int)
        do throws(DBusFailure) {
            offer = try properties(within: timeout)
        } catch {
            throw error.isTimeout
                ? .timeout
                : .failed("no program provides \(Self.interface): install xdg-desktop-portal and its backend")
        }
        guard offer.areas.contains(specification.area) else {
            throw .failed("the desktop portal offers no \(specification.area.rawValue)")
        }
        let created = try request("CreateSession", [], ["session_handle_token": .text("pcast")])
        guard let session = created["session_handle"]?.text, session.hasPrefix("/") else {
            throw .failed("the desktop portal returned no session")
        }
        self.session = session
        var options: [String: DBusValue] = [
            "types": .number(specification.area.bit), "multiple": .boolean(false),
            "cursor_mode": .number(specification.showsPointer ? 2 : 1),
        ]
        if offer.version < 2 { options["cursor_mode"] = nil }
        if offer.version >= Self.restoringVersion {
            // The choice is kept until the user revokes it.
            options["persist_mode"] = .number(2)
            if let token { options["restore_token"] = .text(token) }
        }
        _ = try request("SelectSources", [.path(session)], options)
        let started = try request("Start", [.path(session), .text("")], [:])
        guard let stream = Self.streams(started["streams"] ?? .other).first else {
            throw .failed("the desktop portal returned no stream")
        }
        return (stream, started["restore_token"]?.text)
    }

    /// Returns a connection to the PipeWire server on which the session's stream is visible. Throws `Failure`.
    func remote() throws(Failure) -> Int32 {
        guard let session else { throw .failed("the session is closed") }
        do throws(DBusFailure) {
            let values = try bus.call(
                method("OpenPipeWireRemote"), [.path(session), .options([:])], within: timeout)
            guard case .descriptor(let number)? = values.first, number >= 0 else {
                throw DBusFailure(name: "", reason: "the desktop portal returned no connection to PipeWire")
            }
            return number
        } catch {
            throw error.isTimeout ? .timeout : .failed(error.reason)
        }
    }

    /// Returns the reason for which the session has ended; nil while it continues.
    func end() -> Failure? {
        for signal in bus.signals() {
            if signal.member == "Closed", signal.path == session { return .closed }
            if signal.member == "NameOwnerChanged" { return .failed("the desktop portal has ended") }
        }
        return bus.isConnected ? nil : .failed("the session bus closed the connection")
    }

    /// Closes the session.
    func close() {
        guard let session else { return }
        self.session = nil
        bus.send(
            DBusMethod(
                service: Self.service, path: session, interface: "org.freedesktop.portal.Session", member: "Close"))
    }

    // MARK: Requests

    private func method(_ member: String) -> DBusMethod {
        DBusMethod(service: Self.service, path: Self.path, interface: Self.interface, member: member)
    }

    /// Sends a request, and waits for its response. Returns the results.
    private func request(
        _ member: String, _ arguments: [DBusValue], _ options: [String: DBusValue]
    ) throws(Failure) -> [String: DBusValue] {
        requestCount += 1
        let token = "pcast\(requestCount)"
        let sender = bus.name.dropFirst().replacing(".", with: "_")
        let expected = "\(Self.path)/request/\(sender)/\(token)"
        let deadline = MonotonicClock.now() + timeout
        let path: String
        do throws(DBusFailure) {
            let options = options.merging(["handle_token": .text(token)]) { first, _ in first }
            let values = try bus.call(method(member), arguments + [.options(options)], within: timeout)
            // Older portals choose another path.
            path = values.first?.text ?? expected
        } catch {
            throw error.isTimeout ? .timeout : .failed(error.reason)
        }
        while true {
            for signal in bus.signals() where signal.member == "Response" && [path, expected].contains(signal.path) {
                return try Self.results(signal.arguments)
            }
            if isCancelled() {
                cancel(path)
                throw .cancelled
            }
            guard bus.isConnected else { throw .failed("the session bus closed the connection") }
            let now = MonotonicClock.now()
            guard now < deadline else {
                cancel(path)
                throw .timeout
            }
            _ = sleep.sleep(until: now + Self.interval)
        }
    }

    /// Withdraws a request, so that its dialog disappears.
    private func cancel(_ path: String) {
        bus.send(
            DBusMethod(service: Self.service, path: path, interface: "org.freedesktop.portal.Request", member: "Close"))
    }

    static func results(_ arguments: [DBusValue]) throws(Failure) -> [String: DBusValue] {
        switch arguments.first?.number {
        case 0: return arguments.count > 1 ? arguments[1].options : [:]
        case 1: throw .refused
        default: throw .failed("the desktop portal ended the request")
        }
    }

    /// Reads the streams of a response: each a structure of a node and its properties.
    static func streams(_ value: DBusValue) -> [Stream] {
        value.list.compactMap { element in
            guard case .list(let parts) = element, let node = parts.first?.number, let id = UInt32(exactly: node) else {
                return nil
            }
            let size = parts.count > 1 ? (parts[1].options["size"]?.list.compactMap(\.number) ?? []) : []
            let side = 1...PipeWireVideoFormat.longestSide
            guard size.count == 2, side.contains(size[0]), side.contains(size[1]) else {
                return Stream(node: id, dimensions: nil)
            }
            return Stream(node: id, dimensions: Dimensions(width: size[0], height: size[1]))
        }
    }
}

extension ScreenCastPortal.Failure {
    /// Whether the user decided against the capture, so that it is not requested again.
    var isFinal: Bool { self == .refused || self == .closed }

    /// The error for the source, which says what to do.
    var error: DeviceError {
        switch self {
        case .refused:
            .faulty(
                "the screen",
                reason: "the request to capture it was refused: start again, and allow it in the dialog.")
        case .closed: .faulty("the screen", reason: "the user or the desktop ended the capture: start it again.")
        case .timeout:
            .faulty(
                "the screen",
                reason: "the desktop portal did not respond within \(Int(ScreenCastPortal.timeout.seconds)) s: "
                    + "answer its dialog, or restart xdg-desktop-portal.")
        case .cancelled: .faulty("the screen", reason: "the request was cancelled.")
        case .failed(let reason): .faulty("the screen", reason: "\(reason).")
        }
    }
}
