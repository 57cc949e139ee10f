import Glibc
import PCastCore
import PCastIO

/// The cameras that a PipeWire server offers and V4L2 does not: those of libcamera, and virtual ones of programs.
package enum PipeWireCameras {
    /// The time for the answer of the server.
    private static let timeout = TimeSpan.seconds(2)

    private static let prefix = "pipewire:"

    /// Returns the cameras, in the order of their identifiers. An identifier is `pipewire:` and the name of the node. Those
    /// of libcamera are left out if `hasOthers` is true, which means that V4L2 has cameras that can be captured.
    package static func enumerate(hasOthers: Bool) -> [SourceDevice] {
        nodes().filter { isCamera($0.properties, hasOthers: hasOthers) }.compactMap(device).sorted {
            $0.info.id < $1.info.id
        }
    }

    /// Returns the name of a node from the identifier of a camera; nil for another identifier.
    static func name(inID id: String) -> String? {
        id.hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : nil
    }

    /// Returns the formats of a camera by the name of its node. Throws `DeviceError.notFound` if it does not exist.
    static func formats(of name: String) throws(DeviceError) -> [CaptureFormat] {
        let node = nodes().first { $0.properties["node.name"] == name && isCamera($0.properties, hasOthers: false) }
        guard let node else { throw .notFound("camera:\(prefix)\(name)", lookedIn: "the nodes of PipeWire") }
        return PipeWireCameraFormats.list(node.formats)
    }

    /// Returns whether a node is a camera that V4L2 does not list. Captured screens are video sources, too, but have
    /// another role.
    static func isCamera(_ properties: [String: String], hasOthers: Bool) -> Bool {
        guard properties["media.class"] == "Video/Source", properties["media.role"] == "Camera",
            properties["node.name"]?.isEmpty == false
        else { return false }
        // WirePlumber offers the cameras of V4L2, which are listed anyway.
        if properties["device.api"] == "v4l2" || properties["api.v4l2.path"] != nil { return false }
        // libcamera has the cameras of V4L2 under other names, which cannot be matched.
        let isOfLibcamera = properties["device.api"] == "libcamera" || properties["api.libcamera.path"] != nil
        return !(isOfLibcamera && hasOthers)
    }

    /// Returns the description of a camera; nil if none of its formats can be captured.
    static func device(_ node: PipeWireRegistry.Node) -> SourceDevice? {
        let formats = PipeWireCameraFormats.list(node.formats)
        guard let id = node.properties["node.name"], !formats.isEmpty else { return nil }
        let names = ["node.description", "node.nick"].compactMap { node.properties[$0] }.filter { !$0.isEmpty }
        let name = names.first ?? id
        return SourceDevice(
            info: SourceDeviceInfo(id: prefix + id, name: name, mediaType: .video, deviceType: .physical),
            identity: DeviceIdentity(name: name), capabilities: .video(VideoCapabilities(formats: formats)))
    }

    private static func nodes() -> [PipeWireRegistry.Node] {
        guard PipeWireServerProbe.mayHaveServer(), let registry = try? PipeWireRegistry() else { return [] }
        defer { registry.close() }
        let nodes = registry.wait(until: MonotonicClock.now() + timeout) { state in
            state.isComplete || state.end != nil ? state.nodes : nil
        }
        return (nodes ?? [:]).sorted { $0.key < $1.key }.map(\.value)
    }
}

/// Reports when cameras of PipeWire appear or disappear, also with the server. The callback lists them.
package final class PipeWireCameraMonitor: Sendable {
    /// The time after which a server is searched again.
    private static let retryInterval = TimeSpan.seconds(2)

    private struct State: Sendable {
        var registry: PipeWireRegistry?
        var isStopped = false
    }

    private let state: Monitor<State>
    private let thread: WorkerThread

    /// Starts to watch. `changed` is called on the monitor's own thread, at the start if there is a server, because cameras
    /// may have changed before it was watched. Throws `DeviceError.noThread`.
    package init(changed: @escaping @Sendable () -> Void) throws(DeviceError) {
        let state = Monitor(State())
        self.state = state
        do {
            thread = try WorkerThread(name: "pipewire-watch") { Self.run(state, changed) }
        } catch {
            throw .noThread("\(error)")
        }
    }

    deinit { stop() }

    /// Stops the monitor and waits until a running callback has returned, except when the callback calls it.
    package func stop() {
        let registry = state.withLock { state, condition in
            state.isStopped = true
            condition.wakeAll()
            return state.registry
        }
        registry?.interrupt()
        thread.join()
    }

    private static func run(_ state: Monitor<State>, _ changed: () -> Void) {
        while true {
            if PipeWireServerProbe.mayHaveServer(), let registry = try? PipeWireRegistry() {
                let isStopped = state.withLock { state, _ in
                    state.registry = registry
                    return state.isStopped
                }
                if !isStopped { watch(registry, changed) }
                state.withLock { state, _ in state.registry = nil }
                registry.close()
            }
            let isStopped = state.wait(until: MonotonicClock.now() + retryInterval) { $0.isStopped ? true : nil }
            if isStopped == true { return }
        }
    }

    /// Calls `changed` after each change, until the server ends or the monitor is stopped.
    private static func watch(_ registry: PipeWireRegistry, _ changed: () -> Void) {
        /// The number of reported changes; nil before the list is complete.
        var reported: Int?
        while true {
            let (changes, isOver) =
                registry.wait(until: nil) { state -> (Int?, Bool)? in
                    if state.isInterrupted { return (nil, true) }
                    if state.end != nil { return (state.changes + 1, true) }
                    return state.isComplete && state.changes != reported ? (state.changes, false) : nil
                } ?? (nil, true)
            if let changes {
                reported = changes
                changed()
            }
            if isOver { return }
        }
    }
}
