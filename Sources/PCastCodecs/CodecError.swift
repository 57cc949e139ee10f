import CFFmpeg

/// What a codec or a file could not do; each text says what to do about it.
public enum CodecError: Error, Hashable, Sendable {
    /// The library was built without this codec or format.
    case missing(String)
    /// A setting that the codec refuses, such as an odd size.
    case unsupported(String)
    /// A file or an address that cannot be opened.
    case cannotOpen(String, reason: String)
    /// It holds nothing that was asked for.
    case noTrack(String)
    /// Bytes that are not what they claim to be.
    case damaged(String)
    /// A file that cannot be written.
    case cannotWrite(String, reason: String)
    /// A call of the library failed that does not fail in health.
    case failed(String, reason: String)

    /// FFmpeg's words for an error number.
    static func reason(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            buffer.initialize(repeating: 0)
            return av_strerror(number, buffer.baseAddress, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(number)"
        }
    }
}

extension CodecError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let what): "\(what) is missing: install Debian's FFmpeg, libopus and libvpx packages"
        case .unsupported(let what): what
        case .cannotOpen(let what, let reason): "“\(what)” cannot be opened (\(reason)): is the path or address right?"
        case .noTrack(let what): what
        case .damaged(let what): "the media is damaged: \(what)"
        case .cannotWrite(let path, let reason):
            "“\(path)” cannot be written (\(reason)): is there such a folder, and room on the disk?"
        case .failed(let call, let reason): "\(call) failed: \(reason)"
        }
    }
}
