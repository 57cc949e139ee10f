import CFFmpeg
import Synchronization

/// What libavformat may open in a process that opens what strangers name: each file and address, and all that those name
/// in turn.
///
/// For the whole process, as libraries below open things that nobody sees; set before the first is opened.
public struct MediaAccess: Hashable, Sendable {
    /// libavformat's names of protocols; all others are refused wherever they are named.
    public var protocols: [String]
    /// libavformat's names of formats, of which one is guessed by the content.
    public var formats: [String]
    /// Options of protocols and formats.
    public var options: [String: String]
    /// How long the opening may take: a listener waits for somebody.
    public var openingPatience: Duration

    public init(
        protocols: [String], formats: [String], options: [String: String] = [:],
        openingPatience: Duration = .seconds(10)
    ) {
        self.protocols = protocols
        self.formats = formats
        self.options = options
        self.openingPatience = openingPatience
    }

    private static let shared = Mutex<MediaAccess?>(nil)

    /// From now on nothing else is opened in this process.
    public static func restrict(to access: MediaAccess) { shared.withLock { $0 = access } }

    /// Nil where everything may be opened.
    static var current: MediaAccess? { shared.withLock { $0 } }

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
