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
        guard PipeWireServerProbe.mayHaveServer(), let registry = try? PipeWireRegistry(.cameras) else { return [] }
        defer { registry.close() }
        let nodes = registry.wait(until: MonotonicClock.now() + timeout) { state in
            state.isComplete || state.end != nil ? state.nodes : nil
        }
        return (nodes ?? [:]).sorted { $0.key < $1.key }.map(\.value)
    }
}
