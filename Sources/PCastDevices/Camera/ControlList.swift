import CV4L2
import Glibc

/// The controls of a camera, by ID.
struct ControlList: Sendable {
    /// The limits. No driver exceeds them.
    private static let limit = 512
    private static let itemLimit: Int64 = 256

    /// The controls in the driver's order, without disabled ones and class headings.
    let descriptions: [ControlDescription]

    init(_ descriptions: [ControlDescription]) { self.descriptions = descriptions }

    init(of node: VideoNode) {
        var descriptions: [ControlDescription] = []
        var id: UInt32 = 0
        let next = UInt32(V4L2_CTRL_FLAG_NEXT_CTRL) | UInt32(V4L2_CTRL_FLAG_NEXT_COMPOUND)
        for _ in 0..<Self.limit {
            var query = v4l2_query_ext_ctrl()
            query.id = id | next
            // A driver that repeats an ID would cause an endless loop.
            guard node.ask(CV4L2_QUERY_EXT_CTRL, &query) == 0, query.id > id else { break }
            id = query.id
            guard query.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0,
                query.type != V4L2_CTRL_TYPE_CTRL_CLASS.rawValue
            else { continue }
            descriptions.append(
                ControlDescription(
                    id: id, name: FixedText.string(query.name), type: query.type, flags: query.flags,
                    minimum: query.minimum, maximum: query.maximum, step: Int64(clamping: query.step),
                    standard: query.default_value, elementSize: query.elem_size, elementCount: query.elems,
                    items: Self.items(of: query, node)))
        }
        self.descriptions = descriptions
    }

    private static func items(of query: v4l2_query_ext_ctrl, _ node: VideoNode) -> [ControlDescription.Item] {
        let isNamed = query.type == V4L2_CTRL_TYPE_MENU.rawValue
        guard isNamed || query.type == V4L2_CTRL_TYPE_INTEGER_MENU.rawValue else { return [] }
        guard (0..<itemLimit).contains(query.minimum), query.minimum <= query.maximum else { return [] }
        return (query.minimum...min(query.maximum, itemLimit)).compactMap { index in
            var item = cv4l2_menu_item()
            guard cv4l2_query_menu(node.descriptor, query.id, UInt32(index), &item) == 0 else { return nil }
            return ControlDescription.Item(
                value: index, name: isNamed ? FixedText.string(item.name) : String(item.value))
        }
    }

    subscript(_ id: Int32) -> ControlDescription? { descriptions.first { $0.id == UInt32(bitPattern: id) } }

    /// Returns the control if it is a single number that can be set.
    func settable(_ id: Int32) -> ControlDescription? { self[id].flatMap { $0.isSettable ? $0 : nil } }
}

/// The identity and the capabilities of a V4L2 node.
struct VideoNodeCapability: Hashable, Sendable {
    let driver: String
    let card: String
    /// The bus information, which distinguishes cards of the same name (V4L2 documentation, VIDIOC_QUERYCAP).
    let bus: String
    /// The capabilities of this node, not of the whole device.
    let flags: UInt32

    init(_ answer: v4l2_capability) {
        driver = FixedText.string(answer.driver)
        card = FixedText.string(answer.card)
        bus = FixedText.string(answer.bus_info)
        let isPerNode = answer.capabilities & UInt32(V4L2_CAP_DEVICE_CAPS) != 0
        flags = isPerNode ? answer.device_caps : answer.capabilities
    }

    init(driver: String, card: String, bus: String, flags: UInt32) {
        self.driver = driver
        self.card = card
        self.bus = bus
        self.flags = flags
    }

    var isMultiplanar: Bool { flags & UInt32(V4L2_CAP_VIDEO_CAPTURE) == 0 }

    /// Whether frames can be streamed from it. Metadata nodes and outputs cannot be. Memory-to-memory converters can
    /// be, but they are not cameras.
    var isCamera: Bool {
        let captures = UInt32(V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        let converts = UInt32(V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE)
        return flags & captures != 0 && flags & UInt32(V4L2_CAP_STREAMING) != 0 && flags & converts == 0
    }

    /// The card's name without the repetition that uvcvideo adds: "Webcam: Webcam" or, cut at 32 bytes, "Webcam: Web".
    var name: String {
        let parts = card.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].hasPrefix(parts[1].drop { $0 == " " }) else { return card }
        return String(parts[0])
    }
}

/// Text in arrays of fixed size, with or without a terminating zero.
enum FixedText {
    static func string<Bytes>(_ bytes: Bytes) -> String {
        withUnsafeBytes(of: bytes) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// The capabilities of a camera, from its controls.
struct CameraFeatures: Sendable {
    let flashModes: Set<FlashMode>
    let autoFocusModes: Set<AutoFocusMode>
    let hasFocusTarget: Bool

    init(_ controls: ControlList) {
        flashModes = Self.hasTorch(controls) ? Set(FlashMode.allCases) : [.alwaysOff]
        var modes: Set<AutoFocusMode> = []
        let followsFrame = controls.settable(V4L2_CID_FOCUS_AUTO) != nil
        if followsFrame { modes = [.continuous, .locked, .autoThenLocked] }
        if controls.settable(V4L2_CID_AUTO_FOCUS_START) != nil { modes.insert(.autoThenLocked) }
        if controls.settable(V4L2_CID_FOCUS_ABSOLUTE) != nil || Self.canLockFocus(controls) { modes.insert(.locked) }
        autoFocusModes = modes
        hasFocusTarget = Self.focusTarget(controls) != nil
    }

    /// Returns whether the camera has a light that can stay on while it streams.
    static func hasTorch(_ controls: ControlList) -> Bool {
        controls.settable(V4L2_CID_FLASH_LED_MODE)?.offers(Int64(V4L2_FLASH_LED_MODE_TORCH.rawValue)) ?? false
    }

    /// Returns whether the camera's automatic focus can be locked.
    static func canLockFocus(_ controls: ControlList) -> Bool {
        controls.settable(V4L2_CID_3A_LOCK)?.offers(Int64(V4L2_LOCK_FOCUS)) ?? false
    }

    /// Returns the control for the region of interest that the camera focuses on. Its ID is defined since Linux 6.15.
    /// The value must be a `v4l2_rect`.
    static func focusTarget(_ controls: ControlList) -> ControlDescription? {
        controls[Int32(CV4L2_CID_REGION_OF_INTEREST_RECT)].flatMap {
            !$0.isReadOnly && $0.elementCount == 1 && Int($0.elementSize) == MemoryLayout<v4l2_rect>.size ? $0 : nil
        }
    }

    /// Returns the facing mode from the firmware or the device tree.
    static func facingMode(_ controls: ControlList, _ node: VideoNode) -> FacingMode {
        switch value(of: V4L2_CID_CAMERA_ORIENTATION, controls, node) {
        case Int64(V4L2_CAMERA_ORIENTATION_FRONT): .user
        case Int64(V4L2_CAMERA_ORIENTATION_BACK): .environment
        default: .undefined
        }
    }

    /// Returns the clockwise quarter turns that make frames upright. The control gives the correction in degrees
    /// counterclockwise (V4L2 documentation, camera control reference).
    static func mountRotation(_ controls: ControlList, _ node: VideoNode) -> Int {
        guard let degrees = value(of: V4L2_CID_CAMERA_SENSOR_ROTATION, controls, node) else { return 0 }
        let quarters = Int((degrees % 360 + 360) % 360 + 45) / 90 % 4
        return (4 - quarters) % 4
    }

    private static func value(of id: Int32, _ controls: ControlList, _ node: VideoNode) -> Int64? {
        guard let control = controls[id] else { return nil }
        var answer = v4l2_control(id: control.id, value: 0)
        return node.ask(CV4L2_G_CTRL, &answer) == 0 ? Int64(answer.value) : control.standard
    }
}

/// An open V4L2 node. It is closed with its last reference.
final class VideoNode: Sendable {
    /// The way of access.
    enum Access {
        /// Directly to the driver, for enumeration. libv4l2 would add emulated formats and controls, and reads the
        /// format of every node that it opens.
        case driver
        /// Through libv4l2, whose plugins may replace a driver, without its conversions: frames are converted here
        /// once.
        case library
    }

    let path: String
    let capability: VideoNodeCapability
    let descriptor: Int32
    private let isOfLibrary: Bool

    /// Opens a node. That does not disturb other programs, because a camera is reserved only when buffers are
    /// requested. Throws `DriverError`.
    init(path: String, access: Access) throws(DriverError) {
        let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw DriverError("open", errno) }
        var answer = v4l2_capability()
        let error = cv4l2_ask_driver(descriptor, CV4L2_QUERYCAP, &answer)
        guard error == 0 else {
            close(descriptor)
            throw DriverError("QUERYCAP", error)
        }
        self.path = path
        self.descriptor = descriptor
        capability = VideoNodeCapability(answer)
        // libv4l2 prints errors for nodes that it does not support: multi-planar ones without a plugin, and nodes
        // without a format. These are not opened with it; its functions pass their calls to the driver.
        var format = cv4l2_format()
        isOfLibrary =
            access == .library && !capability.isMultiplanar && cv4l2_get_format(descriptor, 0, &format) == 0
            && v4l2_fd_open(descriptor, V4L2_DISABLE_CONVERSION) >= 0
    }

    deinit {
        if isOfLibrary { v4l2_close(descriptor) } else { close(descriptor) }
    }

    /// 1 for the multi-planar interface, as argument of the C functions.
    var isMultiplanar: Int32 { capability.isMultiplanar ? 1 : 0 }

    /// Whether the driver still responds.
    var isThere: Bool {
        var answer = v4l2_capability()
        return cv4l2_ask_driver(descriptor, CV4L2_QUERYCAP, &answer) == 0
    }

    /// Calls a request with its C structure. Returns 0 or the error number.
    func ask<Argument>(_ request: UInt, _ argument: inout Argument) -> Int32 {
        withUnsafeMutablePointer(to: &argument) { cv4l2_ask_driver(descriptor, request, $0) }
    }
}
