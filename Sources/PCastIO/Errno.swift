import Glibc
import PCastCore

/// The error number of the calling thread and its text.
enum Errno {
    static var current: Int32 { errno }

    static func text(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            buffer.initialize(repeating: 0)
            return strerror_r(number, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(number)"
        }
    }

    /// Converts the error of a call that binds `address`.
    static func binding(_ call: String, _ address: TransportAddress) -> IOError {
        switch current {
        case EADDRINUSE: .addressInUse(address)
        case EADDRNOTAVAIL: .addressNotAvailable(address)
        case EACCES, EPERM: .permissionDenied(address)
        case let number: .system(call: call, errno: number)
        }
    }
}
