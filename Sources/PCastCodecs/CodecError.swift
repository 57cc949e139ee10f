import CFFmpeg

/// An error of a codec, a file or an address. Its description says what to do.
public enum CodecError: Error, Hashable, Sendable {
    /// FFmpeg, libopus or libvpx lacks this codec or format.
    case missing(String)
    /// The codec does not support a setting, such as an odd width.
    case unsupported(String)
    /// A file or an address cannot be opened.
    case cannotOpen(String, reason: String)
    /// A file or an address has no track that can be used.
    case noTrack(String)
    /// The media are invalid, or the source failed before its end.
    case damaged(String)
    /// A file cannot be written.
    case cannotWrite(String, reason: String)
    /// A library call failed unexpectedly.
    case failed(String, reason: String)

    /// Returns FFmpeg's description of an error number.
    static func reason(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            buffer.initialize(repeating: 0)
            return av_strerror(number, buffer.baseAddress, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(number)"
        }
    }
}

extension CodecError: CustomStringConvertible {
    /// The error, and in most cases what to do about it.
    public var description: String {
        switch self {
        case .missing(let what): "\(what) is missing: install Debian's FFmpeg, libopus and libvpx packages"
        case .unsupported(let what): what
        case .cannotOpen(let what, let reason): "“\(what)” cannot be opened (\(reason)): check the path or address"
        case .noTrack(let what): what
        case .damaged(let what): "the media is damaged: \(what)"
        case .cannotWrite(let path, let reason):
            "“\(path)” cannot be written (\(reason)): check that the directory exists and the disk has space"
        case .failed(let call, let reason): "\(call) failed: \(reason)"
        }
    }
}
