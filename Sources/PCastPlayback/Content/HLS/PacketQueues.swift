internal import PCastCodecs
internal import PCastCore

/// The packets of a segment that wait to be decoded, by medium and in order. The number of taken packets is kept, so
/// that a segment that is read again continues at the same packet.
struct PacketQueues {
    private var queues: [PresentationMedium: [CodedPacket]] = [:]
    /// The number of packets of this segment that were taken or skipped.
    private var consumed: [PresentationMedium: Int] = [:]
    /// The number of packets to skip.
    private var skipping: [PresentationMedium: Int] = [:]

    /// The duration of audio before the target of a seek that the decoder needs.
    private static let lead = TimeSpan.milliseconds(200)

    /// Begins another segment.
    mutating func removeAll() {
        queues.removeAll()
        consumed.removeAll()
        skipping.removeAll()
    }

    /// Begins the same segment again.
    mutating func restartSegment() {
        queues.removeAll()
        skipping = consumed
    }

    /// Adds a packet, unless it was taken before.
    mutating func append(_ packet: CodedPacket) {
        if let count = skipping[packet.medium], count > 0 {
            skipping[packet.medium] = count - 1
        } else {
            queues[packet.medium, default: []].append(packet)
        }
    }

    /// Whether there is a packet of a medium.
    func has(_ medium: PresentationMedium) -> Bool { queues[medium]?.isEmpty == false }

    /// The packet with the least decoding time; nil if there is none.
    var first: (time: TimeSpan, medium: PresentationMedium)? {
        let heads = queues.compactMap { medium, packets in
            packets.first.map { (time: $0.decodingTime ?? .zero, medium: medium) }
        }
        return heads.min { $0.time < $1.time }
    }

    /// Returns and removes the first packet of a medium; nil if there is none.
    mutating func take(_ medium: PresentationMedium) -> CodedPacket? {
        guard has(medium) else { return nil }
        consumed[medium, default: 0] += 1
        return queues[medium]?.removeFirst()
    }

    /// Removes all packets of a medium.
    mutating func drop(_ medium: PresentationMedium) { queues[medium] = nil }

    /// Skips the packets that are not needed to display the media from a position on.
    mutating func passOver(to target: TimeSpan) {
        if let frames = queues[.video],
            let key = frames.lastIndex(where: {
                $0.isKeyFrame && ($0.presentationTime ?? .zero) <= target + .milliseconds(1)
            })
        {
            queues[.video]?.removeFirst(key)
            consumed[.video, default: 0] += key
        }
        if let audioFrames = queues[.audio] {
            let early = audioFrames.prefix { ($0.presentationTime ?? target) < target - Self.lead }.count
            queues[.audio]?.removeFirst(early)
            consumed[.audio, default: 0] += early
        }
    }
}
