internal import PCastCore
package import PCastHLS

extension DeliveryDirectives {
    /// Parses the query of a request, without the question mark. Other parameters are ignored.
    ///
    /// - Returns: The directives; nil if a value is not a number, or if a part is named without a segment. The answer is
    ///   then 400 (Bad Request).
    package init?(query: String) {
        self.init()
        for field in query.utf8.split(separator: UInt8(ascii: "&")) {
            guard let sign = field.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let value = Substring(field[field.index(after: sign)...])
            switch Substring(field[..<sign]) {
            case "_HLS_msn":
                guard let number = Self.number(value) else { return nil }
                segment = number
            case "_HLS_part":
                guard let number = Self.number(value) else { return nil }
                part = number
            case "_HLS_skip": skip = Skip(rawValue: String(value))
            default: continue
            }
        }
        if part != nil, segment == nil { return nil }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int64(text)
    }
}

/// The answer to a request of a playlist that names a segment or part.
package enum ReloadAnswer: Hashable, Sendable {
    /// The current playlist contains it, or the stream has ended.
    case ready
    /// The playlist will contain it soon.
    case wait
    /// It is too far ahead: 400 (Bad Request).
    case tooFarAhead
    /// There is no such rendition: 404 (Not Found).
    case unknown
}

extension StreamPackager {
    /// Returns how a playlist request is answered now (RFC 8216bis, section 6.2.5.2).
    package func answer(to directives: DeliveryDirectives, for name: String) -> ReloadAnswer {
        guard names.contains(name) else { return .unknown }
        guard let playlist = mediaPlaylist(of: name) else { return isFinished ? .unknown : .wait }
        return playlist.answer(to: directives)
    }
}

extension MediaPlaylist {
    /// Returns how a request of this playlist is answered (RFC 8216bis, section 6.2.5.2).
    package func answer(to directives: DeliveryDirectives) -> ReloadAnswer {
        guard let segment = directives.segment, !isComplete else { return .ready }
        let next = nextNumber
        guard segment <= next + 1 else { return .tooFarAhead }
        guard let part = directives.part else { return segment < next ? .ready : .wait }
        let partCount = Int64(openSegment?.parts.count ?? 0)
        if segment < next {
            // A part beyond the last one of a segment is the first one of the next segment. A gap has no parts.
            guard segment == next - 1, let listed = self.segment(segment), !listed.isGap, part >= listed.parts.count
            else { return .ready }
            return partCount > 0 ? .ready : .wait
        }
        let ahead = segment == next ? part - partCount + 1 : part + 1
        if ahead <= 0 { return .ready }
        return ahead > advancePartLimit ? .tooFarAhead : .wait
    }

    /// The number of parts that a request may be ahead: three, or three seconds if parts are shorter than a second.
    private var advancePartLimit: Int64 {
        guard let target = partTargetDuration, target > .zero, target < .seconds(1 as Int64) else { return 3 }
        return (3_000_000_000 + target.nanoseconds - 1) / target.nanoseconds
    }
}
