/// The delivery directives in the query of a request for a media playlist (RFC 8216bis, section 6.2.5).
package struct DeliveryDirectives: Hashable, Sendable {
    /// The content that a delta update leaves out (`_HLS_skip`).
    package enum Skip: String, Hashable, Sendable {
        /// Old media segments.
        case segments = "YES"
        /// Old media segments and old date ranges.
        case segmentsAndDateRanges = "v2"
    }

    /// The media sequence number for which the server holds the response (`_HLS_msn`); nil for a response at once.
    package var segment: Int64?
    /// The index of the part of that segment for which the server holds the response (`_HLS_part`); nil for the whole
    /// segment.
    package var part: Int64?
    /// The request for a delta update (`_HLS_skip`); nil for the whole playlist.
    package var skip: Skip?

    /// Creates directives; without any, the request is a plain one.
    package init(segment: Int64? = nil, part: Int64? = nil, skip: Skip? = nil) {
        self.segment = segment
        self.part = part
        self.skip = skip
    }

    /// Creates the directives of the first request for a rendition that the playlist of another rendition reported.
    package init(joining report: RenditionReport) {
        self.init(segment: report.lastSegment, part: report.lastPart)
    }

    /// Whether the server holds the response until the segment or part is available.
    package var isBlocking: Bool { segment != nil }

    /// Returns the URI with the directives in its query. They replace earlier directives and follow other parameters in
    /// the order of their names, so that caches see one URI (RFC 8216bis, section 6.2.5).
    package func applied(to uri: String) -> String {
        var reference = URIReference(uri)
        var pairs = (reference.query ?? "").utf8.split(separator: UInt8(ascii: "&"))
            .map { String(Substring($0)) }.filter { !$0.hasPrefix("_HLS_") }
        if let segment { pairs.append("_HLS_msn=\(segment)") }
        if segment != nil, let part { pairs.append("_HLS_part=\(part)") }
        if let skip { pairs.append("_HLS_skip=\(skip.rawValue)") }
        reference.query = pairs.isEmpty ? nil : pairs.joined(separator: "&")
        // A fragment is not part of an HTTP request.
        reference.fragment = nil
        return reference.text
    }
}
