internal import PCastCodecs
internal import PCastHLS
internal import PCastMedia

/// Reads the segments of one rendition as packets, those of all its media in the order of decoding. Used by one thread at
/// a time.
final class RenditionReader {
    let loader: RenditionLoader
    private let wait: ReaderWait
    /// What is taken of it; the rest is passed over.
    var wanted: Set<PresentationMedium>
    private var segment: LoadedSegment?
    private var demuxer: SegmentDemuxer?
    private var container: SegmentDemuxer.Container?
    private var queues: [PresentationMedium: [CodedPacket]] = [:]
    /// Before the first picture, by which the others are placed.
    private var unplaced: [CodedPacket] = []
    private var offset: TimeSpan?
    /// Of packed sound, whose packets count from zero: the timestamp of its first, where a tag says it.
    private var base: TimeSpan?
    /// Packets of this segment that were taken or passed over; so many are left out when it is read again.
    private var taken: [PresentationMedium: Int] = [:]
    private var skipping: [PresentationMedium: Int] = [:]
    private var hasPackets = false
    private var target: TimeSpan?
    private var isSegmentRead = false
    private(set) var isAtEnd = false
    /// What the segments read so far hold that can be decoded.
    private(set) var media: Set<PresentationMedium> = []
    /// What segments tell of themselves, beside their packets.
    private var messages: [TimedMetadata] = []
    private var brokenSegments = 0

    /// So many segments that nothing can be made of, one behind another, are enough.
    private static let brokenLimit = 3
    /// Enough to tell one container from another.
    private static let sniffedSize = 200
    /// Decoders of sound need a little of what comes before.
    private static let lead = TimeSpan.milliseconds(200)

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
        segment = loader.seek(to: position)
        (target, isAtEnd, brokenSegments) = (position, false, 0)
        messages.removeAll()
    }

    private func leave() {
        reopen()
        taken.removeAll()
        skipping.removeAll()
        hasPackets = false
    }

    private func reopen() {
        (demuxer, offset, base, isSegmentRead) = (nil, nil, nil, false)
        queues.removeAll()
        unplaced.removeAll()
    }

    /// Waits until it is known what comes next.
    ///
    /// - Throws: also ``PlaybackError/interrupted``; it goes on where it was then.
    func head(_ clocks: inout MediaClocks, _ name: String) throws(PlaybackError) -> Head {
        while true {
            if isAtEnd { return .end }
            if let (time, medium) = first { return .packet(time: time, medium) }
            if isSegmentRead || segment == nil { try goOn(name) } else { try readOn(&clocks, name) }
        }
    }

    /// The earliest of what is queued, where nothing earlier can come: each medium is there, or the segment is read.
    private var first: (TimeSpan, PresentationMedium)? {
        let needed = (demuxer?.media ?? []).intersection(wanted).subtracting([.metadata, .text])
        guard isSegmentRead || needed.allSatisfy({ queues[$0]?.isEmpty == false }) else { return nil }
        let heads = queues.compactMap { medium, packets in packets.first.map { ($0.decodingTime ?? .zero, medium) } }
        return heads.min { $0.0 < $1.0 }
    }

    /// Takes what ``head(_:_:)`` told of.
    func take(_ medium: PresentationMedium) -> CodedPacket? {
        guard queues[medium]?.isEmpty == false else { return nil }
        taken[medium, default: 0] += 1
        return queues[medium]?.removeFirst()
    }

    /// Forgets what was read of a medium that is not taken any more.
    func drop(_ medium: PresentationMedium) {
        wanted.remove(medium)
        queues[medium] = nil
    }

    /// Takes a medium from here on.
    func take(up medium: PresentationMedium) {
        wanted.insert(medium)
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
        leave()
        switch next {
        case .segment(let next): segment = next
        case .end: isAtEnd = true
        case .failed(let failure): throw failure.playbackError(name)
        }
    }

    private func readOn(_ clocks: inout MediaClocks, _ name: String) throws(PlaybackError) {
        guard let segment else { return }
        do throws(CodecError) {
            if demuxer == nil { try open(segment) }
            let isWhole = segment.bytes.isComplete
            repeat {
                guard let packet = try demuxer?.read() else {
                    isSegmentRead = true
                    break
                }
                queue(packet, of: segment, &clocks)
                // What lies before the key frame of a position that is looked for need not be decoded.
            } while target != nil && isWhole
        } catch {
            isSegmentRead = true
        }
        if wait.isInterrupted { try interrupt() }
        if isSegmentRead { try finish(segment, &clocks, name) }
        if let target, isSegmentRead { passOver(to: target) }
        target = nil
    }

    private func open(_ segment: LoadedSegment) throws(CodecError) {
        guard var head = wait.wait(for: { segment.bytes.prefix(Self.sniffedSize) }) else { return }
        if segment.initialization.isEmpty, let tag = ID3Tag(head) ?? tag(of: segment, head) {
            guard let longer = wait.wait(for: { segment.bytes.prefix(tag.size + Self.sniffedSize) }) else { return }
            head = Array(longer.dropFirst(tag.size))
            base = ID3Tag(longer)?.transportTimestamp.map { ClockRate.video.span(ofTicks: $0) }
        }
        let container = SegmentDemuxer.Container(
            sniffing: segment.initialization.isEmpty ? head : segment.initialization)
        guard let container else { throw .damaged("a segment of no format that is known") }
        self.container = container
        skipping = taken
        demuxer = try SegmentDemuxer(
            SegmentCursor(segment.bytes, behind: segment.initialization, wait), container: container)
        media.formUnion(demuxer?.media ?? [])
    }

    /// A tag that is longer than what was looked at.
    private func tag(of segment: LoadedSegment, _ head: [UInt8]) -> ID3Tag? {
        guard head.starts(with: "ID3".utf8), head.count >= 10 else { return nil }
        let size = head[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7F) } + 20
        return wait.wait { segment.bytes.prefix(size) }.flatMap { ID3Tag($0) }
    }

    private func queue(_ packet: CodedPacket, of segment: LoadedSegment, _ clocks: inout MediaClocks) {
        hasPackets = true
        guard offset == nil else {
            place(packet)
            return
        }
        unplaced.append(packet)
        let hasPictures = demuxer?.media.contains(.picture) == true
        if packet.medium == .picture || !hasPictures && packet.medium == .sound { settle(segment, packet, &clocks) }
    }

    /// Finds out where the segment lies, by its first picture or sound.
    private func settle(_ segment: LoadedSegment, _ packet: CodedPacket, _ clocks: inout MediaClocks) {
        let first = packet.presentationTime ?? packet.decodingTime ?? .zero
        switch container {
        case .mpegTS, .fragmentedMP4, nil:
            offset = clocks.offset(of: segment, first: first, wrap: container?.wrap)
        default:
            // Packed sound: its clock is that of transport streams, where it has one.
            offset =
                base.map { base in
                    clocks.offset(of: segment, first: base, wrap: SegmentDemuxer.Container.mpegTS.wrap) + base
                } ?? segment.start
        }
        for packet in unplaced { place(packet) }
        unplaced.removeAll()
    }

    private func place(_ packet: CodedPacket) {
        guard wanted.contains(packet.medium) else { return }
        if let count = skipping[packet.medium], count > 0 {
            skipping[packet.medium] = count - 1
            return
        }
        queues[packet.medium, default: []].append(packet.moved(by: offset ?? .zero))
    }

    private func finish(
        _ segment: LoadedSegment, _ clocks: inout MediaClocks, _ name: String
    ) throws(PlaybackError) {
        if let packet = unplaced.first { settle(segment, packet, &clocks) }
        if container == .fragmentedMP4 { tell(of: segment) }
        brokenSegments = hasPackets ? 0 : brokenSegments + 1
        if brokenSegments >= Self.brokenLimit {
            throw .notPlayable(name, reason: "its segments hold nothing that can be decoded")
        }
    }

    private func tell(of segment: LoadedSegment) {
        for message in EventMessage.all(in: segment.bytes.all) {
            let position = message.isRelative ? segment.start + message.time : message.time + (offset ?? .zero)
            messages += TimedMetadata.all(in: message, at: position)
        }
    }

    /// The segment is read again when it goes on: a demuxer cannot go on in the middle of a packet.
    private func interrupt() throws(PlaybackError) {
        _ = wait.takeInterruption()
        reopen()
        throw .interrupted
    }

    private func passOver(to target: TimeSpan) {
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
