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
