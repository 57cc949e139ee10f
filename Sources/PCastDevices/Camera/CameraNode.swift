import Glibc

/// A camera's node and its names.
struct CameraNode: Hashable, Sendable {
    /// Such as `/dev/video0`: another after a restart, or when it was plugged in anew.
    let path: String
    let capability: VideoNodeCapability
    let identity: DeviceIdentity
    /// Whether hardware is behind it, as far as the kernel knows.
    let isHardware: Bool
    /// What it may be called, the best first; several cameras may have one name in common.
    let names: [String]
    /// The first of its names that no other camera has.
    fileprivate(set) var id = ""

    /// Those that can be opened, and why the others cannot.
    struct Survey {
        var cameras: [CameraNode] = []
        var closed: [(path: String, error: DriverError)] = []
    }

    /// Every camera, the best first.
    ///
    /// - Parameter root: where sysfs is mounted.
    static func survey(root: String = "/sys") -> Survey {
        var survey = Survey()
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

    /// Hardware first, in the order of the kernel's numbers.
    private static func identified(_ cameras: [CameraNode]) -> [CameraNode] {
        let ids = uniqueNames(cameras.map(\.names))
        let cameras = zip(cameras, ids).map { camera, id in
            var camera = camera
            camera.id = id
            return camera
        }
        return cameras.filter(\.isHardware) + cameras.filter { !$0.isHardware }
    }

    /// For each device the first of its names that it has alone; where it has none, its last with a number.
    static func uniqueNames(_ names: [[String]]) -> [String] {
        let holders = names.flatMap { Set($0) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        var taken: [String: Int] = [:]
        return names.map { names in
            if let name = names.first(where: { holders[$0] == 1 }) { return name }
            let last = names.last ?? ""
            taken[last, default: 0] += 1
            return taken[last] == 1 ? last : "\(last)-\(taken[last]!)"
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
        // Without a serial number, two cameras of a kind have one name, and which is which depends on their places.
        let usbName = device.usbName
        if let usbName, usbName.hasSerial { names.append("usb-\(usbName.name)\(index)") }
        if let path { names.append(path + index) }
        // Several cameras may hang at one place, with one serial number: their buses tell them apart.
        let bus = SysfsText.name(capability.bus.split(separator: ":").joined(separator: "-"))
        if path != nil, !bus.isEmpty { names.append(bus + index) }
        if path == nil { names.append("virtual-\(SysfsText.name(capability.card))\(index)") }
        self.names = names
        aliases = (usbName.map { ["usb-\($0.name)\(index)"] } ?? []) + [self.path, device.name]
    }

    /// What else people may call it by: the link without a serial number, and its node.
    private let aliases: [String]

    /// Whether it is meant. An identifier of one camera is never understood as another's second name: ask for `id` first.
    func isCalled(_ name: String) -> Bool { names.contains(name) || aliases.contains(name) }

    /// `video10` after `video9`.
    private static func isBefore(_ first: String, _ second: String) -> Bool {
        first.utf8.count == second.utf8.count ? first < second : first.utf8.count < second.utf8.count
    }
}

extension CameraNode.Survey {
    /// The camera of this identifier or name; the best one for nil.
    func camera(_ id: String?) throws(DeviceError) -> CameraNode {
        if let id {
            if let camera = cameras.first(where: { $0.id == id }) ?? cameras.first(where: { $0.isCalled(id) }) {
                return camera
            }
            if let node = closed.first(where: { $0.path == id }) { throw node.error.deviceError(id, path: node.path) }
        } else if let camera = cameras.first {
            return camera
        }
        // What cannot be opened cannot be asked for its name: it may be the one.
        if let node = closed.first { throw node.error.deviceError(node.path, path: node.path) }
        throw .notFound(id.map { "camera:\($0)" } ?? "camera", lookedIn: "/dev/video*")
    }
}
