import CV4L2
import Glibc

/// An error of a driver.
struct DriverError: Error, Hashable {
    /// The request that failed, such as `S_FMT`.
    let call: String
    let number: Int32

    init(_ call: String, _ number: Int32) {
        self.call = call
        self.number = number
    }

    /// Whether the device does not exist, or no longer exists.
    var isAbsence: Bool { [ENODEV, ENXIO, ENOENT, EBADF].contains(number) }

    /// Returns the error for applications, with the camera's name and the path of its node.
    func deviceError(_ name: String, path: String) -> DeviceError {
        switch number {
        // EBUSY comes from the request that reserves the camera, not from opening it.
        case EBUSY: .busy(name)
        case EACCES, EPERM: .forbidden(name, group: NodePermissions.group(of: path))
        case _ where isAbsence: .notFound(name, lookedIn: path)
        case ENOSPC: .faulty(name, reason: "the USB bus has not enough bandwidth: request a smaller size or frame rate")
        default: .faulty(name, reason: "\(call) failed: \(Self.text(number))")
        }
    }

    static func text(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            buffer.initialize(repeating: 0)
            return strerror_r(number, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(number)"
        }
    }
}

/// The permissions of a device node.
enum NodePermissions {
    /// Returns the group whose members may read and write it; nil if only root's group may.
    static func group(of path: String) -> String? {
        var status = stat()
        let readAndWrite = S_IRGRP | S_IWGRP
        guard stat(path, &status) == 0, status.st_gid != 0, status.st_mode & readAndWrite == readAndWrite else {
            return nil
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            var record = Glibc.group()
            var result: UnsafeMutablePointer<Glibc.group>?
            guard getgrgid_r(status.st_gid, &record, buffer.baseAddress!, buffer.count, &result) == 0, result != nil
            else { return String(status.st_gid) }
            return String(cString: record.gr_name)
        }
    }
}
