import PCastCore
import PCastWebRTC

/// The transport of a publisher; a replica has none. A noncopyable value inside an optional can only be read by
/// `switch`.
extension PublishedStream {
    var isConnected: Bool {
        switch transport {
        case .some(let transport): transport.isConnected
        case .none: false
        }
    }

    var canSend: Bool { mutating get { transport?.canSend ?? false } }

    var transportDeadline: Instant? { mutating get { transport?.deadline } }

    var path: NetworkPath? {
        switch transport {
        case .some(let transport): transport.path
        case .none: nil
        }
    }

    var probedPath: NetworkPath? {
        switch transport {
        case .some(let transport): transport.probedPath
        case .none: nil
        }
    }

    func isValidated(_ path: NetworkPath) -> Bool {
        switch transport {
        case .some(let transport): transport.isValidated(path)
        case .none: false
        }
    }
}
