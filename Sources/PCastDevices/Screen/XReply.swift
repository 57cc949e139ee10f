import CXCB
import Glibc

/// The result of a request to a server.
enum XReply<Value> {
    case reply(Value)
    /// An error with its code, such as 3 for BadWindow (X11 protocol, appendix B).
    case refused(code: UInt8)
    /// The connection is closed.
    case gone
}

extension XReply {
    var value: Value? {
        if case .reply(let value) = self { return value }
        return nil
    }

    var isGone: Bool {
        if case .gone = self { return true }
        return false
    }
}

/// The error codes that capturing handles.
enum XErrorCode {
    static let badMatch: UInt8 = 8
    static let badDrawable: UInt8 = 9
}
