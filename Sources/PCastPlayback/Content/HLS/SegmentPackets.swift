internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

/// Reads one segment as packets with positions, from its beginning on while its bytes arrive. It is not thread-safe.
final class SegmentPackets {
    let segment: LoadedSegment
    private let wait: ReaderWait
    private var demuxer: SegmentDemuxer?
    private var cursor: SegmentCursor?
    private var container: SegmentDemuxer.Container?
    /// The packets before the first frame, which determines the offset.
    private var unplaced: [CodedPacket] = []
    /// The position minus the timestamp; nil before it is known.
    private var offset: TimeSpan?
    /// The timestamp of the first packet of packed audio, from its ID3 tag (RFC 8216, section 3.4); nil if it has none.
    private var base: TimeSpan?
    /// Whether no more packets follow, because of the end or an error.
    private(set) var isAtEnd = false

    /// The end of the previous segment's media; nil if the segment does not follow them.
    private let previous: MediaEnd?
    /// The position of the beginning of the media; nil before it is known.
    private(set) var beginning: TimeSpan?

    /// The number of bytes that identify a container.
    private static let sniffedSize = 200
    /// The maximum size of tags and other bytes before the media.
    private static let junkLimit = 256 << 10

    /// Creates a reader of a segment.
    init(_ segment: LoadedSegment, _ wait: ReaderWait, behind previous: MediaEnd? = nil) {
        (self.segment, self.wait, self.previous) = (segment, wait, previous)
    }

    /// The media so far that can be decoded.
    var media: Set<PresentationMedium> { demuxer?.media ?? [] }

    /// Reads a packet and waits for its bytes. Returns the packets whose positions are now known: none before the first
    /// frame, and the remaining ones at the end.
    func read(_ clocks: inout MediaClocks) -> [CodedPacket] {
        do throws(CodecError) {
            if demuxer == nil { try open() }
            if let packet = try demuxer?.read(), !isCut { return placed(packet, &clocks) }
        } catch {
            // A truncated segment ends here.
        }
        isAtEnd = true
        // After an interruption the segment is read again, so its incomplete data must not determine the position.
        guard !wait.isInterrupted, !segment.isLeft, let first = unplaced.first else {
            return []
        }
        return positioned(by: first, &clocks)
    }

    /// Whether the last packet is incomplete, because the segment was replaced.
    private var isCut: Bool { cursor?.isAtEnd == true && segment.isLeft }

    /// Identifies the container and opens the demuxer.
    private func open() throws(CodecError) {
        var skipped = 0
        if segment.initialization.isEmpty {
            guard let found = findMedia() else { return }
            (container, skipped) = (found.container, found.offset)
        } else {
            container = SegmentDemuxer.Container(sniffing: segment.initialization)
        }
        guard let container else { throw .damaged("a segment of an unknown format") }
        let cursor = SegmentCursor(segment.bytes, behind: segment.initialization, skipping: skipped, wait)
        self.cursor = cursor
        demuxer = try SegmentDemuxer(cursor, container: container, decryption: segment.decryption)
    }

    /// Finds the beginning of the media. It is after any number of ID3 tags (RFC 8216, section 3.4), and after other
    /// bytes before the first sync byte, which some servers insert. Returns nil after an interruption, and no container
    /// if the format is unknown.
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
        // It begins with a few bytes, because a segment that is still produced arrives slowly.
        for size in [Self.sniffedSize, 4 << 10, Self.junkLimit] {
            guard let head = prefix(offset + size) else { return nil }
            let rest = Array(head.dropFirst(offset))
            if let container = SegmentDemuxer.Container(sniffing: rest) { return (container, offset) }
            if let found = SegmentDemuxer.Container.find(in: rest) { return (found.container, offset + found.offset) }
            if segment.bytes.isComplete, head.count < offset + size { break }
        }
        return (nil, offset)
    }

    /// Returns the first bytes; nil after an interruption.
    private func prefix(_ size: Int) -> [UInt8]? { wait.wait { segment.bytes.prefix(size) } }

    // MARK: Positions

    /// Returns the packets whose positions are now known.
    private func placed(_ packet: CodedPacket, _ clocks: inout MediaClocks) -> [CodedPacket] {
        if let offset { return [moved(packet, by: offset)] }
        unplaced.append(packet)
        let isFirst = packet.medium == .video || packet.medium == .audio && !media.contains(.video)
        return isFirst ? positioned(by: packet, &clocks) : []
    }

    /// Determines the position of the segment by its first frame.
    private func positioned(by packet: CodedPacket, _ clocks: inout MediaClocks) -> [CodedPacket] {
        let first = packet.presentationTime ?? packet.decodingTime ?? .zero
        let found: TimeSpan
        switch container {
        case .mpegTS, .fragmentedMP4, nil:
            found = clocks.offset(of: segment, first: first, wrap: container?.wrap, behind: previous)
            beginning = first + found
        default:
            // Packed audio uses the clock of transport streams if its tag has a timestamp.
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

    /// Returns the packet with its position. Timestamps may wrap around within a segment, and between the decoding time
    /// and the presentation time.
    private func moved(_ packet: CodedPacket, by offset: TimeSpan) -> CodedPacket {
        packet.moved(by: offset, near: beginning ?? segment.start, wrap: container?.wrap)
    }

    /// The event messages of the whole segment, or the tags of packed audio.
    var messages: [TimedMetadata] {
        guard let container, container != .mpegTS else { return [] }
        guard container == .fragmentedMP4 else {
            let start = beginning ?? segment.start
            return PackedAudioTags.all(in: segment.bytes.all).flatMap { placed in
                TimedMetadata.all(in: placed.tag, at: start + placed.offset)
            }
        }
        return EventMessage.all(in: segment.bytes.all).flatMap { message in
            let position = message.isRelative ? segment.start + message.time : message.time + (offset ?? .zero)
            return TimedMetadata.all(in: message, at: position)
        }
    }
}

extension TimedMetadata {
    /// The scheme of event messages that contain an ID3 tag (AOMedia, "Carriage of ID3 Timed Metadata in CMAF").
    private static let taggedScheme = "https://aomedia.org/emsg/ID3"

    /// Returns the metadata of an event message.
    static func all(in message: EventMessage, at position: TimeSpan) -> [TimedMetadata] {
        if message.scheme == taggedScheme {
            let tagged = all(inTags: message.message, at: position)
            if !tagged.isEmpty { return tagged }
        }
        return [
            TimedMetadata(
                source: .emsg, position: position.duration, duration: message.duration?.duration, name: message.scheme,
                identifier: String(message.id), value: text(message.message))
        ]
    }

    /// Creates the metadata of a date range.
    init(_ range: DateRange, in ranges: [DateRange], at position: TimeSpan) {
        var attributes = range.attributes.map { "\($0.name)=\($0.value.text)" }
        attributes += range.scte35.map { "\($0.kind.rawValue)=\($0.text)" }
        self.init(
            source: .dateRange, position: position.duration, duration: ranges.duration(of: range)?.duration,
            name: range.classID ?? "", identifier: range.id, value: attributes.joined(separator: ","))
    }
}
