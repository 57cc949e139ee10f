import Foundation
import Testing

/// Tests on real drivers, which run in the virtual machine and nowhere else.
@Suite(.enabled(if: Hardware.isHere, "left out: tests on real drivers run in the virtual machine"), .serialized)
struct Hardware {
    /// Set by the virtual machine's job alone.
    static let isHere = ProcessInfo.processInfo.environment["PCAST_HARDWARE"] == "1"
}
