import CV4L2
import Glibc

/// An open V4L2 node, closed with the last reference.
final class VideoNode: Sendable {
    enum Access {
        /// Straight to the driver: enumeration. libv4l2 would list formats and controls of its own making as the
        /// camera's, and reads the format of whatever it opens.
        case driver
        /// By libv4l2, whose plugins may stand in for a driver, with its conversions off: the pictures are converted
        /// here, once.
        case library
    }

    let path: String
    let capability: VideoNodeCapability
    let descriptor: Int32
    private let isOfLibrary: Bool

    /// Opening disturbs nobody: a camera is taken when its format is set.
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
        // libv4l2 complains on standard error about what it does not know, so it is given only what it does: it turns
        // down the multi-planar interface but by a plugin, and nodes without a format. What it was not given, its
        // functions pass to the driver.
        var format = cv4l2_format()
        isOfLibrary =
            access == .library && !capability.isMultiplanar && cv4l2_get_format(descriptor, 0, &format) == 0
            && v4l2_fd_open(descriptor, V4L2_DISABLE_CONVERSION) >= 0
    }

    deinit {
        if isOfLibrary { v4l2_close(descriptor) } else { close(descriptor) }
    }

    /// 1 for the multi-planar interface, as the shim wants it.
    var isMultiplanar: Int32 { capability.isMultiplanar ? 1 : 0 }

    /// Whether the driver still answers.
    var isThere: Bool {
        var answer = v4l2_capability()
        return cv4l2_ask_driver(descriptor, CV4L2_QUERYCAP, &answer) == 0
    }

    /// Answers 0 or the error number.
    ///
    /// - Parameter argument: the structure of C that the request takes.
    func ask<Argument>(_ request: UInt, _ argument: inout Argument) -> Int32 {
        withUnsafeMutablePointer(to: &argument) { cv4l2_ask_driver(descriptor, request, $0) }
    }
}
