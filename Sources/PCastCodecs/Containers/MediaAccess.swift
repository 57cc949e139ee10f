import CFFmpeg
import Synchronization

/// What libavformat may open in a process that opens what strangers name: each file and address, and all that those name
/// in turn.
///
/// For the whole process, as libraries below open things that nobody sees; set before the first is opened.
public struct MediaAccess: Hashable, Sendable {
    /// Schemes of what may be opened by name: the address itself, and what it names.
    public var schemes: [String]
    /// libavformat's names of protocols; all others are refused wherever they are named. Those below a scheme are among
    /// them, such as `tcp`, which nobody may name.
    public var protocols: [String]
    /// libavformat's names of formats, of which one is guessed by the content.
    public var formats: [String]
    /// Options of protocols and formats.
    public var options: [String: String]
    /// How long the opening may take: a listener waits for somebody.
    public var openingPatience: Duration

    public init(
        schemes: [String], protocols: [String], formats: [String], options: [String: String] = [:],
        openingPatience: Duration = .seconds(10)
    ) {
        self.schemes = schemes
        self.protocols = protocols
        self.formats = formats
        self.options = options
        self.openingPatience = openingPatience
    }

    /// Whether an address may be named, or what it says is enciphered (`crypto+http://…` of playlists).
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

    /// From now on nothing else is opened in this process.
    public static func restrict(to access: MediaAccess) { shared.withLock { $0 = access } }

    /// Nil where everything may be opened.
    static var current: MediaAccess? { shared.withLock { $0 } }

    /// Has everything that a context opens by name go through `opens`.
    static func hold(_ context: UnsafeMutablePointer<AVFormatContext>?) {
        guard current != nil else { return }
        context?.pointee.io_open = { context, place, uri, flags, options in
            guard let context, let uri, let access = MediaAccess.current, access.opens(String(cString: uri)) else {
                return cffmpeg_error_invalid_data()
            }
            // A list of its own where nobody brings one; what it held was freed or is the caller's.
            var own: OpaquePointer?
            defer { av_dict_free(&own) }
            return withUnsafeMutablePointer(to: &own) { own in
                let options = options ?? own
                av_dict_set(options, "protocol_whitelist", access.protocols.joined(separator: ","), 0)
                return avio_open2(place, uri, flags, &context.pointee.interrupt_callback, options)
            }
        }
    }

    /// As libavformat takes it; the caller frees it with `av_dict_free`.
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
