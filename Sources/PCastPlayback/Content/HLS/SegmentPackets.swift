internal import PCastCodecs
internal import PCastHLS
internal import PCastMedia

/// One segment as packets that are placed on the timeline, read from its beginning on while its bytes come. Used by one thread
/// at a time.
final class SegmentPackets {
    let segment: LoadedSegment
    private let wait: ReaderWait
    private var demuxer: SegmentDemuxer?
    private var cursor: SegmentCursor?
    private var container: SegmentDemuxer.Container?
    /// Before the first picture, by which the others are placed.
    private var unplaced: [CodedPacket] = []
    /// How far the timeline is ahead of its timestamps; nil before anything was placed.
    private var offset: TimeSpan?
    /// Of packed sound, whose packets count from zero: the timestamp of its first, where a tag says it.
    private var base: TimeSpan?
    /// Nothing more of it comes: that was all, or nothing can be made of the rest.
    private(set) var isAtEnd = false

    /// Enough to tell one container from another.
    private static let sniffedSize = 200

    init(_ segment: LoadedSegment, _ wait: ReaderWait) { (self.segment, self.wait) = (segment, wait) }

    /// What there is to be decoded, as far as it was read.
    var media: Set<PresentationMedium> { demuxer?.media ?? [] }

    /// Reads on by a packet; waits for its bytes.
    ///
    /// - Returns: what is placed with it; nothing yet before the first picture, and at the end what was left.
    func read(_ clocks: inout MediaClocks) -> [CodedPacket] {
        do throws(CodecError) {
            if demuxer == nil { try open() }
            if let packet = try demuxer?.read(), !isCut { return placed(packet, &clocks) }
        } catch {
            // What broke off is over.
        }
        isAtEnd = true
        // What an interruption broke off is read again, and says nothing of where it lies.
        guard !wait.isInterrupted, !segment.isLeft, let first = unplaced.first else {
            return []
        }
        return settled(by: first, &clocks)
    }

    /// What the demuxer makes of the last bytes of a segment that was left is no whole packet.
    private var isCut: Bool { cursor?.isAtEnd == true && segment.isLeft }

    private func open() throws(CodecError) {
        guard var head = wait.wait(for: { segment.bytes.prefix(Self.sniffedSize) }) else { return }
        if segment.initialization.isEmpty, let tag = ID3Tag(head) ?? longTag(head) {
            guard let longer = wait.wait(for: { segment.bytes.prefix(tag.size + Self.sniffedSize) }) else { return }
            head = Array(longer.dropFirst(tag.size))
            base = ID3Tag(longer)?.transportTimestamp.map { ClockRate.video.span(ofTicks: $0) }
        }
        container = SegmentDemuxer.Container(sniffing: segment.initialization.isEmpty ? head : segment.initialization)
        guard let container else { throw .damaged("a segment of no format that is known") }
        let cursor = SegmentCursor(segment.bytes, behind: segment.initialization, wait)
        self.cursor = cursor
        demuxer = try SegmentDemuxer(cursor, container: container)
    }

    /// A tag that is longer than what was looked at.
    private func longTag(_ head: [UInt8]) -> ID3Tag? {
        guard head.starts(with: "ID3".utf8), head.count >= 10 else { return nil }
        let size = head[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7F) } + 20
        return wait.wait { segment.bytes.prefix(size) }.flatMap { ID3Tag($0) }
    }

    // MARK: Where it lies

    private func placed(_ packet: CodedPacket, _ clocks: inout MediaClocks) -> [CodedPacket] {
        if let offset { return [packet.moved(by: offset)] }
        unplaced.append(packet)
        let isFirst = packet.medium == .picture || packet.medium == .sound && !media.contains(.picture)
        return isFirst ? settled(by: packet, &clocks) : []
    }

    /// Finds out where the segment lies, by its first picture or sound.
    private func settled(by packet: CodedPacket, _ clocks: inout MediaClocks) -> [CodedPacket] {
        let first = packet.presentationTime ?? packet.decodingTime ?? .zero
        let found: TimeSpan
        switch container {
        case .mpegTS, .fragmentedMP4, nil:
            found = clocks.offset(of: segment, first: first, wrap: container?.wrap)
        default:
            // Packed sound: its clock is that of transport streams, where it has one.
            found =
                base.map { base in
                    clocks.offset(of: segment, first: base, wrap: SegmentDemuxer.Container.mpegTS.wrap) + base
                } ?? segment.start
        }
        offset = found
        defer { unplaced.removeAll() }
        return unplaced.map { $0.moved(by: found) }
    }

    /// What it tells of itself, beside its packets; of the whole segment.
    var messages: [TimedMetadata] {
        guard container == .fragmentedMP4 else { return [] }
        return EventMessage.all(in: segment.bytes.all).flatMap { message in
            let position = message.isRelative ? segment.start + message.time : message.time + (offset ?? .zero)
            return TimedMetadata.all(in: message, at: position)
        }
    }
}
