/// An error of starting a platform. Its text says what to do.
public enum PlatformError: Error, Sendable, CustomStringConvertible {
    /// The text is not an address of this host.
    case invalidHost(String)
    /// The address is in use. The text names the address, and the setting selects another one.
    case addressInUse(String, PlatformSetting)
    /// The media port cannot be opened, for the reason given.
    case media(String)
    /// The certificate or the key cannot be used, for the reason given.
    case certificate(String)
    /// The database cannot be opened, for the reason given.
    case records(String)
    /// The folder of recordings cannot be used, for the reason given.
    case recordings(String)
    /// The keys of JSON Web Tokens cannot be used, for the reason given.
    case keySet(String)

    /// The error and its remedy in English.
    public var description: String {
        switch self {
        case .invalidHost(let host):
            "“\(host)” is not an address to listen on: use one such as 127.0.0.1, 0.0.0.0 or [::]"
        case .addressInUse(let what, let setting): "\(what) (--\(setting.rawValue))"
        case .records(let reason): "the database could not be opened: \(reason)"
        case .recordings(let reason): "streams cannot be recorded: \(reason)"
        case .keySet(let reason): "JSON Web Tokens cannot be verified: \(reason)"
        case .certificate(let reason): "TLS could not be set up: \(reason)"
        case .media(let reason): "the media port could not be opened: \(reason)"
        }
    }
}
