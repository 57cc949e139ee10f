/// Why a source could not be opened or started; each text says what to do about it.
public enum DeviceError: Error, Hashable, Sendable {
    /// What was asked for, such as `camera:/dev/video0`, is not on this machine.
    case notFound(String)

    /// The text names no source at all.
    case unusable(String, reason: String)

    /// A file or an address that could not be opened or read.
    case unreadable(String, reason: String)

    /// The file or address holds no track of the medium that was asked for.
    case noTrack(String, mediaType: String)

    /// No thread could be had.
    case noThread(String)
}

extension DeviceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound(let what):
            "no \(what) was found: `pcast devices` lists what there is, and `synthetic` is always there."
        case .unusable(let text, let reason):
            "\"\(text)\" is no source (\(reason)): name a camera, microphone, screen, synthetic, null, a file or a URI."
        case .unreadable(let uri, let reason):
            "\(uri) cannot be played: \(reason)"
        case .noTrack(let uri, let mediaType):
            "\(uri) holds no \(mediaType): leave the option away, or name another source."
        case .noThread(let reason):
            "no thread for the source: \(reason)"
        }
    }
}
