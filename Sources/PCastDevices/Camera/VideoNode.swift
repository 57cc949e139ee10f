import CV4L2
import Glibc

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
