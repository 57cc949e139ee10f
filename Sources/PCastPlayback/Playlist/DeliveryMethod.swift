/// How the media of a source come (Brightcove's delivery methods; and PCast's own).
public enum DeliveryMethod: String, Hashable, Sendable, CaseIterable {
    case hls
    case mp4
    case dash
    /// A stream of a PCast platform.
    case pcast
    /// Anything else.
    case other

    /// As the address says it: by its scheme, a link to a platform's page, else by the extension of its path.
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

    /// In small letters, without the dot; empty where there is none.
    static func pathExtension(of address: String) -> String {
        let path = address.prefix { $0 != "?" && $0 != "#" }
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
