import CV4L2

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
