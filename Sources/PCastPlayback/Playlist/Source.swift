public import PCastJSON

/// The location of the media of a video (Brightcove's `BCOVSource`). Sources with equal properties are equal.
public struct Source: Hashable, Sendable {
    /// A path, or an address with the scheme http, https or pcast (``StreamAddress``).
    public var address: String
    /// The protocol or container that delivers the media.
    public var deliveryMethod: DeliveryMethod
    /// The application-defined properties.
    public var properties: [String: JSONValue]
    /// The wall-clock time of media without times; nil to use the times in the media. It has no effect on a stream of a
    /// platform.
    public var wallClock: WallClockMapping?

    /// Creates a source. A nil `deliveryMethod` is derived from the address. A nil `wallClock` uses the times in the
    /// media.
    public init(
        _ address: String, deliveryMethod: DeliveryMethod? = nil, properties: [String: JSONValue] = [:],
        wallClock: WallClockMapping? = nil
    ) {
        self.address = address
        self.wallClock = wallClock
        self.deliveryMethod = deliveryMethod ?? DeliveryMethod(address: address)
        self.properties = properties
    }

    /// The address for people, without tokens and passwords.
    public var name: String { StreamAddress(address)?.name ?? ContentAddress(address).name }

    /// Whether the address has the scheme https.
    var isEncrypted: Bool { address.lowercased().hasPrefix("https:") }

    /// Returns the media type of the source. Only an `.m3u8` address can be audio only; any other counts as audio and
    /// video (Brightcove's `BCOVSourceMediaType`).
    func mediaType(of overview: ContentOverview) -> SourceMediaType {
        guard DeliveryMethod.pathExtension(of: address) == "m3u8" else { return .audioVideo }
        return overview.has(.video) || !overview.has(.audio) ? .audioVideo : .audio
    }
}

/// The protocol or container that delivers the media of a source (Brightcove's delivery methods, and PCast's own).
public enum DeliveryMethod: String, Hashable, Sendable, CaseIterable {
    /// HTTP Live Streaming (RFC 8216).
    case hls
    /// An MP4 file (ISO/IEC 14496-14).
    case mp4
    /// MPEG-DASH (ISO/IEC 23009-1), which is not supported.
    case dash
    /// A stream of a PCast platform.
    case pcast
    /// Any other protocol or container.
    case other

    /// Creates the delivery method of an address. The scheme `pcast` and links to a platform's page are streams of a
    /// platform; otherwise the file extension determines it.
    public init(address: String) {
        if address.lowercased().hasPrefix("pcast:") || StreamAddress(address) != nil {
            self = .pcast
            return
        }
        switch Self.pathExtension(of: address) {
        case "m3u8": self = .hls
        case "mp4", "m4v", "mov": self = .mp4
        case "mpd": self = .dash
        default: self = .other
        }
    }

    /// Returns the file extension of an address in lower case, without the dot; empty if there is none.
    static func pathExtension(of address: String) -> String {
        let path = address.prefix { $0 != "?" && $0 != "#" }
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}

/// The media type of a source (Brightcove's `BCOVSourceMediaType`, with the same raw values).
public enum SourceMediaType: Int, Hashable, Sendable, CaseIterable {
    /// The media type is not known yet.
    case undetermined = 0
    /// The source has only audio.
    case audio = 1
    /// The source has audio and video, or only video.
    case audioVideo = 2
}
