internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

/// Reads the segments of one rendition as packets of all media in decoding order. It is not thread-safe.
final class RenditionReader {
    let loader: RenditionLoader
    private let wait: ReaderWait
    /// The media to deliver. Packets of others are skipped.
    private var wanted: Set<PresentationMedium>
    private var segment: LoadedSegment?
    /// The packets of the segment; nil before it is read, and if it is to be read again.
    private var packets: SegmentPackets?
    private var queues = PacketQueues()
    private var hasPackets = false
    /// The target of a seek until it is found; nil otherwise.
    private var target: TimeSpan?
    private(set) var isAtEnd = false
    /// The position of the segment's first frame in decoding order; nil before it is read.
    private var firstFrame: TimeSpan?
    private var pendingRestart: Return?
    /// The media in the segments so far that can be decoded.
    private(set) var media: Set<PresentationMedium> = []
    /// The event messages of segments.
    private var messages: [TimedMetadata] = []
    private var brokenSegments = 0
    /// The progress in the current segment.
    private var progress = MediaProgress()
    /// The last segment that was read completely, and the end of its media; nil before.
    private var last: (segment: LoadedSegment, end: MediaEnd)?
    /// The number of seeks that reached a later position than their target.
    private var seekRepetitions = 0

    /// The maximum number of attempts to find a position with an imprecise playlist.
    private static let seekAttemptLimit = 4
    private static let seekTolerance = TimeSpan.milliseconds(500)

    /// The number of consecutive segments without decodable media after which playback fails.
    private static let brokenLimit = 3

    /// Creates a reader.
    init(_ loader: RenditionLoader, wanted: Set<PresentationMedium>, wait: ReaderWait) {
        (self.loader, self.wanted, self.wait) = (loader, wanted, wait)
    }

    /// The next step in decoding order.
    enum Head {
        /// A packet of a medium follows, with its decoding time.
        case packet(time: TimeSpan, PresentationMedium)
        /// The rendition has ended.
        case end
    }

    /// Seeks to a position.
    func seek(to position: TimeSpan) {
        leave()
        last = nil
        segment = loader.seek(to: position)
        (target, isAtEnd, brokenSegments, pendingRestart, seekRepetitions) = (position, false, 0, nil, 0)
        messages.removeAll()
    }

    /// Discards the state of the current segment.
    private func leave() {
        (packets, hasPackets, firstFrame, progress) = (nil, false, nil, MediaProgress())
        queues.removeAll()
    }

    /// Waits until the next packet is known. Throws a ``PlaybackError``; after `interrupted`, reading continues at the
    /// same packet.
    func head(_ clocks: inout MediaClocks, _ name: String) throws(PlaybackError) -> Head {
        while true {
            if isAtEnd { return .end }
            if let (time, medium) = first { return .packet(time: time, medium) }
            if let segment, !isSegmentRead {
                try readOn(segment, &clocks, name)
            } else {
                try advanceToNextSegment(name)
            }
        }
    }

    /// Whether the segment was read completely.
    private var isSegmentRead: Bool { packets?.isAtEnd == true }

    /// The first packet in decoding order; nil while an earlier one may follow.
    private var first: (time: TimeSpan, medium: PresentationMedium)? {
        let needed = (packets?.media ?? []).intersection(wanted).subtracting([.metadata, .text])
        guard isSegmentRead || needed.allSatisfy({ queues.has($0) }) else { return nil }
        return queues.first
    }

    /// Returns and removes the packet that ``head(_:_:)`` announced.
    func take(_ medium: PresentationMedium) -> CodedPacket? { queues.take(medium) }

    /// Discards all packets of a medium from now on.
    func drop(_ medium: PresentationMedium) {
        wanted.remove(medium)
        queues.drop(medium)
    }

    /// Delivers the packets of a medium from now on.
    func take(up medium: PresentationMedium) {
        wanted.insert(medium)
    }

    /// A restart with a segment that was partly read: a segment of another variant replaced it.
    struct Return {
        /// The position of the first frame that was read; nil for none.
        var firstFrame: TimeSpan?
    }

    /// Returns whether reading has restarted since the last call. Packets that were delivered before are delivered
    /// again.
    func takeReturn() -> Return? {
        defer { pendingRestart = nil }
        return pendingRestart
    }

    /// Returns and removes the event messages, and the tags of packed audio.
    func takeMessages() -> [TimedMetadata] {
        defer { messages.removeAll() }
        return messages
    }

    /// Advances to the next segment.
    private func advanceToNextSegment(_ name: String) throws(PlaybackError) {
        let last = segment
        guard let next = wait.wait(for: { self.loader.next(after: last) }) else {
            _ = wait.takeInterruption()
            throw .interrupted
        }
        if last?.isLeft == true { pendingRestart = Return(firstFrame: firstFrame) }
        leave()
        switch next {
        case .segment(let next): segment = next
        case .end: isAtEnd = true
        case .failed(let failure): throw failure.playbackError(name)
        }
    }

    /// Reads a packet of the segment, or up to the target of a seek.
    private func readOn(
        _ segment: LoadedSegment, _ clocks: inout MediaClocks, _ name: String
    ) throws(PlaybackError) {
        let isNew = self.packets == nil
        let packets = self.packets ?? SegmentPackets(segment, wait, behind: end(before: segment))
        self.packets = packets
        let isWhole = segment.bytes.isComplete
        let wasPositioned = packets.beginning != nil
        repeat {
            for packet in packets.read(&clocks) {
                hasPackets = true
                progress.add(packet)
                if packet.medium == .video { firstFrame = firstFrame ?? packet.presentationTime }
                if wanted.contains(packet.medium) { queues.append(packet) }
            }
            // During a seek, packets before the key frame of the target need not be decoded.
        } while target != nil && isWhole && !packets.isAtEnd
        if isNew { media.formUnion(packets.media) }
        if !wasPositioned, let beginning = packets.beginning {
            loader.reposition(segment, at: beginning)
            if repeatsSeek(behind: beginning) { return }
        }
        if wait.isInterrupted { try interrupt() }
        if packets.isAtEnd { try finish(packets, name) }
        if let target, packets.isAtEnd { queues.skip(to: target) }
        target = nil
    }

    /// Returns the end of the media before a segment; nil if the previous segment was not read.
    private func end(before segment: LoadedSegment) -> MediaEnd? {
        guard let last, last.segment.rung == segment.rung, last.segment.clock.epoch == segment.clock.epoch,
            last.segment.number + 1 == segment.number
        else { return nil }
        return last.end
    }

    /// Repeats a seek if the segment begins after the target. The timeline has been corrected by its media, so the next
    /// attempt is more precise. There is nothing to find in a gap.
    private func repeatsSeek(behind beginning: TimeSpan) -> Bool {
        guard let target, beginning > target + Self.seekTolerance, seekRepetitions < Self.seekAttemptLimit,
            let timeline = loader.timeline, timeline.start < beginning - Self.seekTolerance,
            timeline.segment(at: max(target, timeline.start))?.isGap != true
        else { return false }
        seekRepetitions += 1
        leave()
        segment = loader.seek(to: target)
        return true
    }

    /// Handles the end of a segment.
    private func finish(_ packets: SegmentPackets, _ name: String) throws(PlaybackError) {
        guard !packets.segment.isLeft else { return }
        // The playlist places the media that follow a gap.
        let endsInGap = packets.segment.endsInGap
        last = endsInGap ? nil : progress.end.map { (packets.segment, $0) }
        if let end = progress.end { loader.end(packets.segment, at: end.position) }
        messages += packets.messages
        if hasPackets { brokenSegments = 0 } else if !endsInGap { brokenSegments += 1 }
        if brokenSegments >= Self.brokenLimit {
            throw .notPlayable(name, reason: "its segments contain no media that can be decoded")
        }
    }

    /// Handles an interruption. The segment is read again afterwards, because a demuxer cannot continue in the middle
    /// of a packet.
    private func interrupt() throws(PlaybackError) {
        _ = wait.takeInterruption()
        packets = nil
        queues.restartSegment()
        throw .interrupted
    }
}

/// The progress in the media of a segment.
private struct MediaProgress {
    private var frames = Track()
    private var audioFrames = Track()

    private struct Track {
        var end: TimeSpan?
        var lastTime: TimeSpan?
        var longest = TimeSpan.zero

        mutating func add(_ packet: CodedPacket) {
            let time = packet.decodingTime
            var step = TimeSpan.zero
            if let time, let lastTime, time > lastTime { step = time - lastTime }
            longest = max(longest, step)
            lastTime = time ?? lastTime
            guard let shown = packet.presentationTime ?? time else { return }
            let packetEnd = shown + (packet.duration ?? step)
            end = max(end ?? packetEnd, packetEnd)
        }
    }

    mutating func add(_ packet: CodedPacket) {
        switch packet.medium {
        case .video: frames.add(packet)
        case .audio: audioFrames.add(packet)
        case .text, .metadata: break
        }
    }

    /// The end of the media, by the video if there is any; nil before the first packet.
    var end: MediaEnd? {
        let track = frames.end == nil ? audioFrames : frames
        return track.end.map { MediaEnd(position: $0, interval: track.longest) }
    }
}

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
    mutating func skip(to target: TimeSpan) {
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
