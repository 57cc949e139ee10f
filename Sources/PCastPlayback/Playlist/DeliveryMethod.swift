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
