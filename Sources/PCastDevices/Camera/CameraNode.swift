import Glibc

/// The device node of a camera, and its names.
struct CameraNode: Hashable, Sendable {
    /// The path, such as `/dev/video0`. It can change after a restart or reconnection.
    let path: String
    let capability: VideoNodeCapability
    let identity: DeviceIdentity
    /// Whether the kernel knows hardware behind it.
    let isHardware: Bool
    /// The possible identifiers in order of preference. Several cameras may share one.
    let names: [String]
    /// The first identifier that no other camera has.
    fileprivate(set) var id = ""

    /// The cameras that can be opened, and the errors of the others.
    struct CameraSearchResult {
        var cameras: [CameraNode] = []
        var closed: [(path: String, error: DriverError)] = []
    }

    /// Returns every camera, in order of preference. `root` is the mount point of sysfs.
    static func survey(root: String = "/sys") -> CameraSearchResult {
        var survey = CameraSearchResult()
        for name in SysfsDevice.names(subsystem: "video4linux", root: root).sorted(by: isBefore) {
            guard name.hasPrefix("video"), let device = SysfsDevice(subsystem: "video4linux", name: name, root: root)
            else { continue }
            do {
                let node = try VideoNode(path: "/dev/\(name)", access: .driver)
                if node.capability.isCamera { survey.cameras.append(CameraNode(node, device)) }
            } catch {
                if !error.isAbsence { survey.closed.append(("/dev/\(name)", error)) }
            }
        }
        survey.cameras = identified(survey.cameras)
        return survey
    }

    /// Assigns the identifiers. Hardware comes first, in the order of the kernel's numbers.
    private static func identified(_ cameras: [CameraNode]) -> [CameraNode] {
        let ids = uniqueNames(cameras.map(\.names))
        let cameras = zip(cameras, ids).map { camera, id in
            var camera = camera
            camera.id = id
            return camera
        }
        return cameras.filter(\.isHardware) + cameras.filter { !$0.isHardware }
    }

    /// Returns for each device the first of its names that no other device has, or else its last name with a number.
    static func uniqueNames(_ names: [[String]]) -> [String] {
        let holders = names.flatMap { Set($0) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        var usedNames: [String: Int] = [:]
        return names.map { names in
            if let name = names.first(where: { holders[$0] == 1 }) { return name }
            let last = names.last ?? ""
            usedNames[last, default: 0] += 1
            return usedNames[last] == 1 ? last : "\(last)-\(usedNames[last]!)"
        }
    }

    private init(_ node: VideoNode, _ device: SysfsDevice) {
        path = node.path
        capability = node.capability
        let index = "-video-index\(device.attribute("index") ?? "0")"
        let usb = device.ancestor(subsystem: "usb", type: "usb_device")
        identity = DeviceIdentity(
            name: capability.name, vendor: usb?.attribute("idVendor"), product: usb?.attribute("idProduct"),
            serial: usb?.attribute("serial"))
        let path = device.pathName
        isHardware = device.parent != nil
        var names: [String] = []
        // Without a serial number, two cameras of the same model have the same USB name, and are distinguished by their
        // ports.
        let usbName = device.usbName
        if let usbName, usbName.hasSerial { names.append("usb-\(usbName.name)\(index)") }
        if let path { names.append(path + index) }
        // Several cameras may share a port and a serial number, and are distinguished by their bus information.
        let bus = SysfsText.name(capability.bus.split(separator: ":").joined(separator: "-"))
        if path != nil, !bus.isEmpty { names.append(bus + index) }
        if path == nil { names.append("virtual-\(SysfsText.name(capability.card))\(index)") }
        self.names = names
        aliases = (usbName.map { ["usb-\($0.name)\(index)"] } ?? []) + [self.path, device.name]
    }

    /// Other accepted names: the link without a serial number, and the node.
    private let aliases: [String]

    /// Returns whether the camera has this name. Compare all cameras' `id` first, so that the ID of one is not taken
    /// for an alias of another.
    func isCalled(_ name: String) -> Bool { names.contains(name) || aliases.contains(name) }

    /// Returns whether a name sorts before another, such as `video9` before `video10`.
    private static func isBefore(_ first: String, _ second: String) -> Bool {
        first.utf8.count == second.utf8.count ? first < second : first.utf8.count < second.utf8.count
    }
}

extension CameraNode.CameraSearchResult {
    /// Returns the camera with an identifier or name, or the first one for nil. Throws `DeviceError`.
    func camera(_ id: String?) throws(DeviceError) -> CameraNode {
        if let id {
            if let camera = cameras.first(where: { $0.id == id }) ?? cameras.first(where: { $0.isCalled(id) }) {
                return camera
            }
            if let node = closed.first(where: { $0.path == id }) { throw node.error.deviceError(id, path: node.path) }
        } else if let camera = cameras.first {
            return camera
        }
        // The names of a node that cannot be opened are unknown, so it may be the requested one.
        if let node = closed.first { throw node.error.deviceError(node.path, path: node.path) }
        throw .notFound(id.map { "camera:\($0)" } ?? "camera", lookedIn: "/dev/video*")
    }
}
