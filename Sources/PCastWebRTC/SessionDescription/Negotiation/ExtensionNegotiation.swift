import PCastRTP

/// The negotiation of header extensions and their IDs in a section.
struct ExtensionNegotiation {
    /// The lines of the answer.
    private(set) var answer: [ExtensionMapping] = []
    /// The extensions by ID.
    private(set) var map = RTPHeaderExtensionMap()

    /// Negotiates the offered extensions.
    ///
    /// - Parameters:
    ///   - offered: The lines of the offer.
    ///   - wanted: The supported extensions.
    ///   - mid: The MID of the section. Its extension is omitted if there is none, or it is longer than the 16 bytes of
    ///     a one-byte header extension (RFC 8285, section 4.2).
    ///   - direction: The direction of the media, from the local view.
    ///   - allowsMixed: Whether two-byte header extensions are allowed.
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

    /// Returns the ID if it can be used. IDs from 15 on need two-byte header extensions (RFC 8285, section 4.2).
    private static func usable(_ id: UInt16, allowsMixed: Bool) -> UInt8? {
        (1...(allowsMixed ? 255 : 14)).contains(id) ? UInt8(id) : nil
    }

    /// Returns whether an extension with a direction is usable, which it is if the media flows in no other direction.
    private static func flows(_ mapping: ExtensionMapping, with ours: MediaDirection) -> Bool {
        guard let offered = mapping.direction else { return true }
        return (!ours.sends || offered.receives) && (!ours.receives || offered.sends)
    }

    /// Removes absolute send times, which only REMB needs, if transport-wide feedback is used.
    mutating func removeAbsoluteSendTime() {
        guard let id = map.id(of: .absoluteSendTime) else { return }
        map[id] = nil
        answer.removeAll { $0.id == UInt16(id) }
    }
}
