import PCastRTP

/// The layers of a publisher's simulcast that an answer accepts (RFC 8853, section 5.3).
struct SimulcastNegotiation {
    /// The accepted RIDs as `a=rid` lines of the answer.
    private(set) var rids: [RestrictionIdentifier] = []
    /// The `a=simulcast` line of the answer; nil if no layer is accepted.
    private(set) var description: SimulcastDescription?

    /// Negotiates the layers of an offer.
    ///
    /// - Parameters:
    ///   - offer: The offered section.
    ///   - payloadType: The only format of the answer. A RID that is restricted to others is rejected.
    init(offer: MediaDescription, payloadType: UInt8) {
        guard let streams = offer.simulcast?.send else { return }
        var accepted: [SimulcastDescription.Stream] = []
        var seen: Set<String> = []
        for stream in streams where accepted.count < SDPLimits.simulcastLayers {
            // Among alternative encodings, the first usable one is accepted. Initially paused layers are accepted as
            // well.
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

    /// Returns the RID of an answer; nil if the offered one is not usable.
    private static func answer(
        to id: String, in offer: MediaDescription, payloadType: UInt8
    ) -> RestrictionIdentifier? {
        // A RID that is too long for the header extension cannot identify packets.
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
