/// What a request for a media playlist asks of the server (RFC 8216bis, section 6.2.5).
public struct DeliveryDirectives: Hashable, Sendable {
    public enum Skip: String, Hashable, Sendable {
        case segments = "YES"
        /// Date ranges too.
        case segmentsAndDateRanges = "v2"
    }

    /// Answer once the playlist has this segment, or a later one.
    public var segment: Int64?
    /// Answer once it has this part of the segment, from zero.
    public var part: Int64?
    /// Leave out what is old.
    public var skip: Skip?

    public init(segment: Int64? = nil, part: Int64? = nil, skip: Skip? = nil) {
        self.segment = segment
        self.part = part
        self.skip = skip
    }

    /// The first request for a rendition whose state another's playlist reported.
    public init(joining report: RenditionReport) {
        self.init(segment: report.lastSegment, part: report.lastPart)
    }

    /// The server holds the answer back until there is something new.
    public var isBlocking: Bool { segment != nil }

    /// The address with the directives in its query: behind what stands there, in the order of their names, so that caches
    /// see one address, and instead of any that stood there before.
    public func applied(to uri: String) -> String {
        var reference = URIReference(uri)
        var pairs = (reference.query ?? "").utf8.split(separator: UInt8(ascii: "&"))
            .map { String(Substring($0)) }.filter { !$0.hasPrefix("_HLS_") }
        if let segment { pairs.append("_HLS_msn=\(segment)") }
        if segment != nil, let part { pairs.append("_HLS_part=\(part)") }
        if let skip { pairs.append("_HLS_skip=\(skip.rawValue)") }
        reference.query = pairs.isEmpty ? nil : pairs.joined(separator: "&")
        // A fragment is not sent.
        reference.fragment = nil
        return reference.text
    }
}
