import CFFmpeg
import Synchronization

/// The files and addresses that libavformat may open in a process that opens untrusted addresses. It applies to the
/// address itself and to everything that the media refer to.
///
/// It applies to the whole process, because libraries open further connections internally. Set it before anything is
/// opened.
package struct MediaAccess: Hashable, Sendable {
    /// The schemes of addresses that may be opened by name or by reference.
    package var schemes: [String]
    /// libavformat's names of the allowed protocols; all others are refused. The list includes the protocols below a
    /// scheme, such as `tcp`, which may not be named directly.
    package var protocols: [String]
    /// libavformat's names of the allowed formats. The format is detected from the content.
    package var formats: [String]
    /// libavformat's options for protocols and formats.
    package var options: [String: String]
    /// The timeout for opening. It is separate from the timeout for reading, because a listener waits for a peer.
    package var openTimeout: Duration

    /// Creates a restriction, which ``restrict(to:)`` puts into force.
    package init(
        schemes: [String], protocols: [String], formats: [String], options: [String: String] = [:],
        openTimeout: Duration = .seconds(10)
    ) {
        self.schemes = schemes
        self.protocols = protocols
        self.formats = formats
        self.options = options
        self.openTimeout = openTimeout
    }

    /// Returns whether an address may be opened. An encrypted playlist item (`crypto+http://…`) is judged by the
    /// address inside.
    func opens(_ uri: String) -> Bool {
        // By bytes, as libavformat reads it.
        var rest = uri.utf8[...]
        for prefix in ["crypto+", "crypto:"] where rest.starts(with: prefix.utf8) {
            rest = rest.dropFirst(prefix.utf8.count)
        }
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return schemes.contains("file") }
        return schemes.contains(String(Substring(rest[..<colon])))
            || schemes.contains("file") && rest.first == UInt8(ascii: "/")
    }

    private static let shared = Mutex<MediaAccess?>(nil)

    /// Restricts the process: from now on nothing else is opened.
    package static func restrict(to access: MediaAccess) { shared.withLock { $0 = access } }

    /// Whether this process opens only the permitted media.
    package static var isRestricted: Bool { current != nil }

    /// The restriction in force; nil if everything may be opened.
    static var current: MediaAccess? { shared.withLock { $0 } }

    /// Makes a context check everything that it opens by name with `opens`.
    static func hold(_ context: UnsafeMutablePointer<AVFormatContext>?) {
        guard current != nil else { return }
        context?.pointee.io_open = { context, pb, uri, flags, options in
            guard let context, let uri, let access = MediaAccess.current, access.opens(String(cString: uri)) else {
                return cffmpeg_error_invalid_data()
            }
            // Creates a dictionary if the caller passes none, because FFmpeg replaces its content.
            var own: OpaquePointer?
            defer { av_dict_free(&own) }
            return withUnsafeMutablePointer(to: &own) { own in
                let options = options ?? own
                av_dict_set(options, "protocol_whitelist", access.protocols.joined(separator: ","), 0)
                return avio_open2(pb, uri, flags, &context.pointee.interrupt_callback, options)
            }
        }
    }

    /// Returns the restriction as libavformat's options; nil if there is none. The caller frees it with `av_dict_free`.
    static func dictionary() -> OpaquePointer? {
        var dictionary: OpaquePointer?
        guard let access = current else { return nil }
        for (name, value) in access.options { av_dict_set(&dictionary, name, value, 0) }
        av_dict_set(&dictionary, "protocol_whitelist", access.protocols.joined(separator: ","), 0)
        if !access.formats.isEmpty {
            av_dict_set(&dictionary, "format_whitelist", access.formats.joined(separator: ","), 0)
        }
        return dictionary
    }
}
