import CXCB
import Glibc

/// What a server said to a request.
enum XAnswer<Value> {
    case reply(Value)
    /// By the number of the error, such as 3 for BadWindow (X11 protocol, appendix B).
    case refused(code: UInt8)
    /// There is no connection any more.
    case gone
}

extension XAnswer {
    var value: Value? {
        if case .reply(let value) = self { return value }
        return nil
    }

    var isGone: Bool {
        if case .gone = self { return true }
        return false
    }
}

/// Numbers of errors that grabbing expects.
enum XErrorCode {
    static let badMatch: UInt8 = 8
    static let badDrawable: UInt8 = 9
}
