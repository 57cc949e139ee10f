import PCastRTP

/// Which header extensions of an offered section are answered, and under which numbers.
struct ExtensionNegotiation {
    private(set) var answer: [ExtensionMapping] = []
    private(set) var map = RTPHeaderExtensionMap()

    /// - Parameters:
    ///   - mid: the section's. Its extension is left out where packets cannot carry it: there is none, or it is longer
    ///     than the 16 bytes of a one-byte header extension (RFC 8285, section 4.2).
    ///   - direction: the media's, seen from our side.
    init(
        offered: [ExtensionMapping], wanted: Set<RTPHeaderExtension>, mid: String?, direction: MediaDirection,
        allowsMixed: Bool
    ) {
        var wanted = wanted
        if mid.flatMap({ RTPStreamIdentifier($0) }) == nil { wanted.remove(.mid) }
        map.allowsTwoByte = allowsMixed
        for mapping in offered {
            guard let id = Self.usable(mapping.id, allowsMixed: allowsMixed),
                let known = RTPHeaderExtension(uri: mapping.uri), wanted.contains(known),
                map.id(of: known) == nil, map[id] == nil, Self.flows(mapping, with: direction)
            else { continue }
            map[id] = known
            answer.append(ExtensionMapping(id: mapping.id, uri: mapping.uri, direction: mapping.direction?.reversed))
        }
    }

    /// Id 15 and above exist in the two-byte form only (RFC 8285, section 4.2).
    private static func usable(_ id: UInt16, allowsMixed: Bool) -> UInt8? {
        (1...(allowsMixed ? 255 : 14)).contains(id) ? UInt8(id) : nil
    }

    /// An extension offered one way is of use only where the media flows no other way.
    private static func flows(_ mapping: ExtensionMapping, with ours: MediaDirection) -> Bool {
        guard let offered = mapping.direction else { return true }
        return (!ours.sends || offered.receives) && (!ours.receives || offered.sends)
    }

    /// Only one estimator: with transport-wide feedback the send times that REMB needs are left out.
    mutating func removeAbsoluteSendTime() {
        guard let id = map.id(of: .absoluteSendTime) else { return }
        map[id] = nil
        answer.removeAll { $0.id == UInt16(id) }
    }
}
