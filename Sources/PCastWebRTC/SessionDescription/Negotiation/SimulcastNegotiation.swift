import PCastRTP

/// The layers of a publisher's simulcast that an answer takes (RFC 8853, section 5.3).
struct SimulcastNegotiation {
    private(set) var rids: [RestrictionIdentifier] = []
    private(set) var description: SimulcastDescription?

    /// - Parameter payloadType: the one format of the answer; a rid held to other formats is left out.
    init(offer: MediaDescription, payloadType: UInt8) {
        guard let streams = offer.simulcast?.send else { return }
        var accepted: [SimulcastDescription.Stream] = []
        var seen: Set<String> = []
        for stream in streams where accepted.count < SDPLimits.simulcastLayers {
            // Alternatives of one stream: the first that we can take. Paused layers are asked for like the others.
            for encoding in stream where !seen.contains(encoding.rid) {
                guard let rid = Self.answer(to: encoding.rid, in: offer, payloadType: payloadType) else { continue }
                seen.insert(encoding.rid)
                rids.append(rid)
                accepted.append([SimulcastDescription.Encoding(rid: encoding.rid, isPaused: encoding.isPaused)])
                break
            }
        }
        guard !accepted.isEmpty else { return }
        description = SimulcastDescription(receive: accepted)
    }

    private static func answer(
        to id: String, in offer: MediaDescription, payloadType: UInt8
    ) -> RestrictionIdentifier? {
        // A longer name than the packets have room for tells no layer apart.
        guard RTPStreamIdentifier(id) != nil,
            var rid = offer.rids.first(where: { $0.id == id && $0.direction == .send })
        else { return nil }
        rid.direction = .receive
        if let types = rid.restrictions["pt"] {
            guard types.split(separator: ",").contains(where: { UInt8($0) == payloadType }) else { return nil }
            rid.restrictions["pt"] = String(payloadType)
        }
        return rid
    }
}
