internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

/// Reads the segments of one rendition as packets, those of all its media in the order of decoding. Used by one thread at
/// a time.
final class RenditionReader {
    let loader: RenditionLoader
    private let wait: ReaderWait
    /// What is taken of it; the rest is passed over.
    private var wanted: Set<PresentationMedium>
    private var segment: LoadedSegment?
    /// Of the segment; nil before it is read, or when it is to be read again.
    private var packets: SegmentPackets?
    private var queues = PacketQueues()
    private var hasPackets = false
    /// Where somebody went, until it is found.
    private var target: TimeSpan?
    private(set) var isAtEnd = false
    /// The first picture of the segment, in the order of decoding.
    private var firstPicture: TimeSpan?
    private var goneBack: Return?
    /// What the segments read so far hold that can be decoded.
    private(set) var media: Set<PresentationMedium> = []
    /// What segments tell of themselves, beside their packets.
    private var messages: [TimedMetadata] = []
    private var brokenSegments = 0
    /// Of the segment that is read, as far as it was.
    private var progress = MediaProgress()
    /// The segment that was read last from its beginning to its end, and where its media end.
    private var last: (segment: LoadedSegment, end: MediaEnd)?
    /// So often somebody who went to a position landed behind it.
    private var landings = 0

    /// A playlist may be that wrong that a position is found by trying.
    private static let landingLimit = 4
    private static let landingTolerance = TimeSpan.milliseconds(500)

    /// So many segments that nothing can be made of, one behind another, are enough.
    private static let brokenLimit = 3

    init(_ loader: RenditionLoader, wanted: Set<PresentationMedium>, wait: ReaderWait) {
        (self.loader, self.wanted, self.wait) = (loader, wanted, wait)
    }

    /// What comes next.
    enum Head {
        case packet(time: TimeSpan, PresentationMedium)
        case end
    }

    /// Goes elsewhere.
    func seek(to position: TimeSpan) {
        leave()
        last = nil
        segment = loader.seek(to: position)
        (target, isAtEnd, brokenSegments, goneBack, landings) = (position, false, 0, nil, 0)
        messages.removeAll()
    }

    private func leave() {
        (packets, hasPackets, firstPicture, progress) = (nil, false, nil, MediaProgress())
        queues.removeAll()
    }

    /// Waits until it is known what comes next.
    ///
    /// - Throws: also ``PlaybackError/interrupted``; it goes on where it was then.
    func head(_ clocks: inout MediaClocks, _ name: String) throws(PlaybackError) -> Head {
        while true {
            if isAtEnd { return .end }
            if let (time, medium) = first { return .packet(time: time, medium) }
            if let segment, !isSegmentRead {
                try readOn(segment, &clocks, name)
            } else {
                try goOn(name)
            }
        }
    }

    private var isSegmentRead: Bool { packets?.isAtEnd == true }

    /// The earliest of what is queued, where nothing earlier can come: each medium is there, or the segment is read.
    private var first: (time: TimeSpan, medium: PresentationMedium)? {
        let needed = (packets?.media ?? []).intersection(wanted).subtracting([.metadata, .text])
        guard isSegmentRead || needed.allSatisfy({ queues.has($0) }) else { return nil }
        return queues.first
    }

    /// Takes what ``head(_:_:)`` told of.
    func take(_ medium: PresentationMedium) -> CodedPacket? { queues.take(medium) }

    /// Forgets what was read of a medium that is not taken any more.
    func drop(_ medium: PresentationMedium) {
        wanted.remove(medium)
        queues.drop(medium)
    }

    /// Takes a medium from here on.
    func take(up medium: PresentationMedium) {
        wanted.insert(medium)
    }

    /// What comes next was read before, as far as it went: the segment was left for another variant's, which is read from its
    /// beginning on.
    struct Return {
        /// Of what was read; nil for none.
        var firstPicture: TimeSpan?
    }

    /// Whether it has gone back since this was asked last. All that it gave before is of before.
    func takeReturn() -> Return? {
        defer { goneBack = nil }
        return goneBack
    }

    func takeMessages() -> [TimedMetadata] {
        defer { messages.removeAll() }
        return messages
    }

    /// Goes to the segment behind this one.
    private func goOn(_ name: String) throws(PlaybackError) {
        let last = segment
        guard let next = wait.wait(for: { self.loader.next(after: last) }) else {
            _ = wait.takeInterruption()
            throw .interrupted
        }
        if last?.isLeft == true { goneBack = Return(firstPicture: firstPicture) }
        leave()
        switch next {
        case .segment(let next): segment = next
        case .end: isAtEnd = true
        case .failed(let failure): throw failure.playbackError(name)
        }
    }

    private func readOn(
        _ segment: LoadedSegment, _ clocks: inout MediaClocks, _ name: String
    ) throws(PlaybackError) {
        let isNew = self.packets == nil
        let packets = self.packets ?? SegmentPackets(segment, wait, behind: end(before: segment))
        self.packets = packets
        let isWhole = segment.bytes.isComplete
        let wasPlaced = packets.beginning != nil
        repeat {
            for packet in packets.read(&clocks) {
                hasPackets = true
                progress.add(packet)
                if packet.medium == .picture { firstPicture = firstPicture ?? packet.presentationTime }
                if wanted.contains(packet.medium) { queues.append(packet) }
            }
            // What lies before the key frame of a position that is looked for need not be decoded.
        } while target != nil && isWhole && !packets.isAtEnd
        if isNew { media.formUnion(packets.media) }
        if !wasPlaced, let beginning = packets.beginning {
            loader.place(segment, at: beginning)
            if landsAgain(behind: beginning) { return }
        }
        if wait.isInterrupted { try interrupt() }
        if packets.isAtEnd { try finish(packets, name) }
        if let target, packets.isAtEnd { queues.passOver(to: target) }
        target = nil
    }

    /// Where the media end that lie before a segment; nil where nothing was read that it follows.
    private func end(before segment: LoadedSegment) -> MediaEnd? {
        guard let last, last.segment.rung == segment.rung, last.segment.clock.epoch == segment.clock.epoch,
            last.segment.number + 1 == segment.number
        else { return nil }
        return last.end
    }

    /// Looks for a position once more: the playlist said that it lies in a segment whose media lie behind it, and knows better
    /// now.
    private func landsAgain(behind beginning: TimeSpan) -> Bool {
        guard let target, beginning > target + Self.landingTolerance, landings < Self.landingLimit,
            let start = loader.timeline?.start, start < beginning - Self.landingTolerance
        else { return false }
        landings += 1
        leave()
        segment = loader.seek(to: target)
        return true
    }

    private func finish(_ packets: SegmentPackets, _ name: String) throws(PlaybackError) {
        guard !packets.segment.isLeft else { return }
        last = progress.end.map { (packets.segment, $0) }
        if let end = progress.end { loader.end(packets.segment, at: end.position) }
        messages += packets.messages
        brokenSegments = hasPackets ? 0 : brokenSegments + 1
        if brokenSegments >= Self.brokenLimit {
            throw .notPlayable(name, reason: "its segments hold nothing that can be decoded")
        }
    }

    /// The segment is read again when it goes on: a demuxer cannot go on in the middle of a packet.
    private func interrupt() throws(PlaybackError) {
        _ = wait.takeInterruption()
        packets = nil
        queues.beginAgain()
        throw .interrupted
    }
}

/// How far the media of a segment go, as it is read.
private struct MediaProgress {
    private var pictures = Track()
    private var sounds = Track()

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
        case .picture: pictures.add(packet)
        case .sound: sounds.add(packet)
        case .text, .metadata: break
        }
    }

    /// By the pictures, where there are any.
    var end: MediaEnd? {
        let track = pictures.end == nil ? sounds : pictures
        return track.end.map { MediaEnd(position: $0, interval: track.longest) }
    }
}
