internal import PCastCodecs
internal import PCastCore

/// Packets of a segment that wait to be taken, those of each medium in their order; and how many were taken, so that a segment
/// that has to be read again goes on where it was.
struct PacketQueues {
    private var queues: [PresentationMedium: [CodedPacket]] = [:]
    /// Of this segment, taken or passed over.
    private var taken: [PresentationMedium: Int] = [:]
    /// So many more are left out.
    private var skipping: [PresentationMedium: Int] = [:]

    /// Decoders of sound need a little of what comes before.
    private static let lead = TimeSpan.milliseconds(200)

    /// Another segment comes.
    mutating func removeAll() {
        queues.removeAll()
        taken.removeAll()
        skipping.removeAll()
    }

    /// The same segment comes from its beginning again.
    mutating func beginAgain() {
        queues.removeAll()
        skipping = taken
    }

    mutating func append(_ packet: CodedPacket) {
        if let count = skipping[packet.medium], count > 0 {
            skipping[packet.medium] = count - 1
        } else {
            queues[packet.medium, default: []].append(packet)
        }
    }

    func has(_ medium: PresentationMedium) -> Bool { queues[medium]?.isEmpty == false }

    /// Which is to be decoded first.
    var first: (time: TimeSpan, medium: PresentationMedium)? {
        let heads = queues.compactMap { medium, packets in
            packets.first.map { (time: $0.decodingTime ?? .zero, medium: medium) }
        }
        return heads.min { $0.time < $1.time }
    }

    mutating func take(_ medium: PresentationMedium) -> CodedPacket? {
        guard has(medium) else { return nil }
        taken[medium, default: 0] += 1
        return queues[medium]?.removeFirst()
    }

    /// Forgets what waits of a medium.
    mutating func drop(_ medium: PresentationMedium) { queues[medium] = nil }

    /// Leaves out what need not be decoded for what is seen and heard from a position on.
    mutating func passOver(to target: TimeSpan) {
        if let pictures = queues[.picture],
            let key = pictures.lastIndex(where: {
                $0.isKeyFrame && ($0.presentationTime ?? .zero) <= target + .milliseconds(1)
            })
        {
            queues[.picture]?.removeFirst(key)
            taken[.picture, default: 0] += key
        }
        if let sounds = queues[.sound] {
            let early = sounds.prefix { ($0.presentationTime ?? target) < target - Self.lead }.count
            queues[.sound]?.removeFirst(early)
            taken[.sound, default: 0] += early
        }
    }
}
