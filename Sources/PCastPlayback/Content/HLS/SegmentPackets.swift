internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

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

    /// Where what was read before it ends; nil where it does not follow that.
    private let previous: MediaEnd?
    /// Where its media begin; nil before that is known.
    private(set) var beginning: TimeSpan?

    /// Enough to tell one container from another, where nothing stands before it.
    private static let sniffedSize = 200
    /// Tags and whatever else stands before the media are looked over that far.
    private static let junkLimit = 256 << 10

    init(_ segment: LoadedSegment, _ wait: ReaderWait, behind previous: MediaEnd? = nil) {
        (self.segment, self.wait, self.previous) = (segment, wait, previous)
    }

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
        var skipped = 0
        if segment.initialization.isEmpty {
            guard let found = findMedia() else { return }
            (container, skipped) = (found.container, found.offset)
        } else {
            container = SegmentDemuxer.Container(sniffing: segment.initialization)
        }
        guard let container else { throw .damaged("a segment of no format that is known") }
        let cursor = SegmentCursor(segment.bytes, behind: segment.initialization, skipping: skipped, wait)
        self.cursor = cursor
        demuxer = try SegmentDemuxer(cursor, container: container)
    }

    /// Where the media begin: behind any number of ID3 tags (RFC 8216, section 3.4), and behind whatever stands before the
    /// first sync byte, as servers that pass for others put it there.
    ///
    /// - Returns: nil when it was interrupted; no container where there is none that is known.
    private func findMedia() -> (container: SegmentDemuxer.Container?, offset: Int)? {
        var offset = 0
        while true {
            guard let head = prefix(offset + Self.sniffedSize) else { return nil }
            guard let size = ID3Tag.size(of: head.dropFirst(offset)), offset + size <= Self.junkLimit else { break }
            guard let whole = prefix(offset + size) else { return nil }
            if base == nil, let tag = ID3Tag(Array(whole.dropFirst(offset))) {
                base = tag.transportTimestamp.map { ClockRate.video.span(ofTicks: $0) }
            }
            offset += size
        }
        // A little first: media that are being made come slowly.
        for size in [Self.sniffedSize, 4 << 10, Self.junkLimit] {
            guard let head = prefix(offset + size) else { return nil }
            let rest = Array(head.dropFirst(offset))
            if let container = SegmentDemuxer.Container(sniffing: rest) { return (container, offset) }
            if let found = SegmentDemuxer.Container.find(in: rest) { return (found.container, offset + found.offset) }
            if segment.bytes.isComplete, head.count < offset + size { break }
        }
        return (nil, offset)
    }

    private func prefix(_ size: Int) -> [UInt8]? { wait.wait { segment.bytes.prefix(size) } }

    // MARK: Where it lies

    private func placed(_ packet: CodedPacket, _ clocks: inout MediaClocks) -> [CodedPacket] {
        if let offset { return [moved(packet, by: offset)] }
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
            found = clocks.offset(of: segment, first: first, wrap: container?.wrap, behind: previous)
            beginning = first + found
        default:
            // Packed sound: its clock is that of transport streams, where it has one.
            found =
                base.map { base in
                    let wrap = SegmentDemuxer.Container.mpegTS.wrap
                    return clocks.offset(of: segment, first: base, wrap: wrap, behind: previous) + base
                } ?? previous?.position ?? segment.start
            beginning = found
        }
        offset = found
        defer { unplaced.removeAll() }
        return unplaced.map { moved($0, by: found) }
    }

    /// A clock may begin anew within a segment, and between a picture's decoding and its showing.
    private func moved(_ packet: CodedPacket, by offset: TimeSpan) -> CodedPacket {
        packet.moved(by: offset, near: beginning ?? segment.start, wrap: container?.wrap)
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
