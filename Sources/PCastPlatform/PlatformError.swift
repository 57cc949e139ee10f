/// An error of starting a platform. Its text says what to do.
public enum PlatformError: Error, Sendable, CustomStringConvertible {
    case invalidHost(String)
    /// The address is in use. The text names the address, and the setting selects another one.
    case addressInUse(String, PlatformSetting)
    case media(String)
    case certificate(String)
    case records(String)

    /// The error and its remedy in English.
    public var description: String {
        switch self {
        case .invalidHost(let host):
            "“\(host)” is no address to listen on: write one such as 127.0.0.1, 0.0.0.0 or [::]"
        case .addressInUse(let what, let setting): "\(what) (--\(setting.rawValue))"
        case .records(let reason): "the records could not be opened: \(reason)"
        case .certificate(let reason): "the TLS port could not be secured: \(reason)"
        case .media(let reason): "the media port could not be opened: \(reason)"
        }
    }
}
