import PCastCore
import PCastRTP
import PCastWebRTC

/// The packets of successive publishers as those of one track: SSRC, sequence numbers, timestamps, picture IDs of VP8 and
/// VP9, and frame numbers of dependency descriptors continue when the publisher changes, so that viewers, packagers and
/// recordings see one source.
///
/// It reads the log of a publisher's track like a viewer. A video track begins with a key frame.
struct SplicedTrack {
    /// The track of the publisher that is read.
    private struct Source {
        let publisher: PeerID
        /// The layer; 0 for audio.
        let layer: Int
        /// The position of the next packet.
        var position: Int64
        /// The sequence number of the first packet that is forwarded.
        var firstSequence: Int64
        var sequenceOffset: Int64
        /// Whether the first packet is the next one that arrives, because no packet had arrived when the track began.
        var beginsWithNext = false
        var timeline: Timeline?
        var pictures = VPXPictureOffset()
        /// The difference from the publisher's frame numbers to the track's.
        var frameOffset: UInt16 = 0
        /// The positions of the parameter sets that precede the key frame and are not forwarded yet.
        var parameterSets: Range<Int64> = 0..<0
    }

    /// The mapping of a publisher's timestamps to those of the track.
    ///
    /// Frames from a key frame to the time of the splice may have been captured before the last frame of the former
    /// publisher. Their timestamps are compressed, so that a viewer decodes them at once and reaches the live edge.
    struct Timeline: Hashable {
        /// The publisher's timestamp of the first frame, and the track's.
        let origin: UInt32
        let start: UInt32
        /// The ticks between the first frame and the live edge at the time of the splice: the publisher's and the track's.
        let span: Int64
        let compressedSpan: Int64

        /// Creates the mapping of a frame without frames after it.
        init(from origin: UInt32, to start: UInt32) {
            (self.origin, self.start) = (origin, start)
            (span, compressedSpan) = (0, 0)
        }

        /// Creates a mapping.
        ///
        /// - Parameters:
        ///   - origin: The publisher's timestamp of the first frame.
        ///   - edge: The publisher's timestamp of the newest frame.
        ///   - last: The timestamp of the last frame of the former publisher.
        ///   - passed: The ticks from the arrival of that frame to the arrival of the first one; negative if it arrived
        ///     later.
        ///   - step: The minimum number of ticks between both.
        init(from origin: UInt32, edge: UInt32, after last: UInt32, passed: Int64, step: Int64) {
            self.origin = origin
            span = max(Int64(Int32(bitPattern: edge &- origin)), 0)
            start = last &+ UInt32(truncatingIfNeeded: max(passed, step))
            // The time of the live edge is that of its arrival, unless the frames would be too close to each other.
            compressedSpan = passed >= step ? span : max(span + passed - step, span / 8)
        }

        /// Returns the timestamp of a frame.
        func timestamp(of other: UInt32) -> UInt32 {
            let distance = Int64(Int32(bitPattern: other &- origin))
            guard distance > 0, distance < span else {
                let offset = distance <= 0 ? distance : distance - span + compressedSpan
                return start &+ UInt32(truncatingIfNeeded: offset)
            }
            return start &+ UInt32(truncatingIfNeeded: distance * compressedSpan / span)
        }
    }

    let type: MediaType
    /// The codec of the newest packets.
    private(set) var codec: Codec
    /// The formats of the section, one of which the publisher must send.
    private let formats: [PayloadFormat]
    private var header: RTPHeader
    private let extensions: RTPHeaderExtensionMap
    private let rid: RTPStreamIdentifier?
    private var source: Source?
    private var newestSequence: Int64
    /// The newest timestamp, the arrival of its packet, and the publisher's timestamp.
    private var newest: (timestamp: UInt32, arrival: Instant, original: UInt32)?
    private let firstTimestamp: UInt32
    /// The last numbers of a VP8 or VP9 frame that were written.
    private var pictureNumbers: VPXPictureNumbers?
    /// The number of the newest frame that was written with a dependency descriptor; nil before the first one.
    private var newestFrame: UInt16?
    private var packetCount: UInt32 = 0
    private var octetCount: UInt32 = 0
    private var nextReport: Instant?
    /// The time before which requests for key frames are not repeated.
    var nextRequest: Instant?

    /// The size of a buffer for a packet in bytes.
    static let bufferSize =
        RTPHeader.maximumWrittenSize + LoggedDescriptor.maximumSize + PacketLog.maximumPayloadSize
    private static let reportInterval = TimeSpan.seconds(1 as Int64)
    /// The number of packets before a key frame among which reordered packets of it are looked for.
    private static let reorderedCount: Int64 = 64
    /// A larger difference of timestamps and arrivals is a change of the publisher's clock.
    private static let longestStep = TimeSpan.seconds(10 as Int64)
    /// The minimum time between frames of different publishers.
    private static let shortestStep = TimeSpan.milliseconds(1)

    /// Creates a track.
    ///
    /// - Parameters:
    ///   - section: The media section of the stream.
    ///   - rid: The name of the layer; nil without simulcast, and for audio.
    ///   - ssrc: The SSRC of the packets.
    ///   - generator: The generator of the first sequence number and timestamp.
    init(
        _ section: NegotiatedMedia, rid: RTPStreamIdentifier?, ssrc: UInt32,
        using generator: inout some RandomNumberGenerator
    ) {
        type = section.type
        codec = section.codec
        formats = section.acceptablePayloads
        extensions = section.extensionMap
        self.rid = rid
        header = RTPHeader(
            marker: false, payloadType: section.payloadType, sequenceNumber: 0, timestamp: 0, ssrc: ssrc)
        newestSequence = Int64.random(in: 1...0x7FFF, using: &generator)
        firstTimestamp = UInt32.random(in: 0...UInt32.max, using: &generator)
    }

    /// Whether packets of a codec can be forwarded.
    func accepts(_ codec: Codec?) -> Bool { formats.contains { $0.codec == codec } }

    /// The publisher whose packets are forwarded, and its layer; nil before the first one.
    var publisher: (peer: PeerID, layer: Int)? { source.map { ($0.publisher, $0.layer) } }

    /// Continues the packets that a stream has received from its own publisher: their SSRC, numbers and timestamps.
    ///
    /// - Parameters:
    ///   - log: The packets of the track. If there are none, the track begins with numbers of its own.
    ///   - ssrc: The SSRC of the packets.
    ///   - codec: The codec of the newest packet.
    mutating func resume(after log: borrowing PacketLog, ssrc: UInt32, codec: Codec) {
        follow(codec)
        guard let sequence = log.newestSequence, log.end > log.start else { return }
        let position = log.position(ofSequence: sequence) ?? log.end - 1
        let last = log[position]
        header.ssrc = ssrc
        newestSequence = sequence
        newest = (last.timestamp, last.arrival, last.timestamp)
        pictureNumbers = VPXPictureNumbers(codec, log.payload(at: position).span)
        newestFrame = last.descriptor.exists ? last.descriptor.frameNumber : nil
    }

    /// Continues with the packets of a publisher.
    ///
    /// - Parameters:
    ///   - publisher: The publisher.
    ///   - layer: The layer; 0 for audio.
    ///   - log: The packets of the publisher's track.
    ///   - codec: The codec of the publisher's track, which the track accepts.
    ///   - position: The position of the first packet, which begins a key frame if the track is video.
    mutating func begin(
        _ publisher: PeerID, layer: Int, _ log: borrowing PacketLog, codec: Codec, at position: Int64
    ) {
        follow(codec)
        guard position < log.end else {
            let last = log.newestSequence ?? 0
            source = Source(
                publisher: publisher, layer: layer, position: position, firstSequence: last + 1,
                sequenceOffset: newestSequence - last, beginsWithNext: log.newestSequence == nil)
            return
        }
        let first = log[position]
        let edge = log[log.end - 1]
        let sets = type == .video ? log.parameterSets(ofKeyFrameAt: position) : nil
        var begun = Source(
            publisher: publisher, layer: layer,
            position: max(log.start, position - Self.reorderedCount), firstSequence: first.sequence,
            sequenceOffset: newestSequence + 1 + Int64(sets?.count ?? 0) - first.sequence)
        begun.timeline = timeline(from: first, edge: edge.timestamp)
        begun.parameterSets = sets ?? 0..<0
        if let pictureNumbers, let next = VPXPictureNumbers(codec, log.payload(at: position).span) {
            begun.pictures = VPXPictureOffset(continuing: pictureNumbers, with: next, codec: codec)
        }
        // The log has completed the descriptor of a key frame with the structure of its publisher.
        if let newestFrame, first.descriptor.exists {
            begun.frameOffset = newestFrame &+ 1 &- first.descriptor.frameNumber
        }
        source = begun
    }

    /// Reads no publisher any more.
    mutating func stop() { source = nil }

    /// Writes packets of a codec from now on.
    private mutating func follow(_ codec: Codec) {
        guard codec != self.codec, let format = formats.first(where: { $0.codec == codec }) else { return }
        self.codec = codec
        header.payloadType = format.payloadType
        // The numbers of frames in payloads are those of the former codec.
        pictureNumbers = nil
    }

    private func timeline(from first: PacketLog.Entry, edge: UInt32) -> Timeline {
        guard let newest else { return Timeline(from: first.timestamp, to: firstTimestamp) }
        let rate = codec.clockRate
        return Timeline(
            from: first.timestamp, edge: edge, after: newest.timestamp,
            passed: rate.ticks(in: first.arrival - newest.arrival), step: rate.ticks(in: Self.shortestStep))
    }

    /// Whether packets were overwritten before they were read, so that the track must begin again.
    func isBehind(_ log: borrowing PacketLog) -> Bool {
        guard let source else { return false }
        return source.position < log.start && source.position + Self.reorderedCount < log.start
    }

    /// Writes the next packet into a buffer of ``bufferSize`` bytes. Returns its size; nil if there is none.
    mutating func next(_ log: borrowing PacketLog, into buffer: MutableByteView) -> Int? {
        guard source != nil else { return nil }
        if let size = nextParameterSet(log, into: buffer) { return size }
        source!.position = max(source!.position, log.start)
        while source!.position < log.end {
            let position = source!.position
            let entry = log[position]
            source!.position += 1
            if source!.beginsWithNext, entry.sequence >= 0 {
                source!.beginsWithNext = false
                source!.firstSequence = entry.sequence
                source!.sequenceOffset = newestSequence + 1 - entry.sequence
            }
            // Parameter sets that the log repeats have no number, and packets before the key frame are not needed.
            guard entry.sequence >= source!.firstSequence else { continue }
            let sequence = entry.sequence + source!.sequenceOffset
            let timestamp = timestamp(of: entry)
            let payload = entry.leads(to: source!.firstSequence) ? ByteView() : log.payload(at: position)
            return write(
                entry, payload, descriptor: descriptor(of: entry, at: position, in: log), number: sequence,
                timestamp: timestamp, into: buffer)
        }
        return nil
    }

    /// Writes the next parameter set that the key frame lacks, with the timestamp of the key frame.
    private mutating func nextParameterSet(
        _ log: borrowing PacketLog, into buffer: MutableByteView
    ) -> Int? {
        let sets = source!.parameterSets
        guard let position = sets.first, let timeline = source!.timeline else { return nil }
        source!.parameterSets = sets.dropFirst()
        guard position >= log.start, position < log.end else { return nil }
        let number = source!.firstSequence + source!.sequenceOffset - Int64(sets.count)
        return write(
            log[position], log.payload(at: position), descriptor: nil, number: number, timestamp: timeline.start,
            into: buffer)
    }

    /// Returns the dependency descriptor of a packet with the frame number of the track; nil if the packet has none.
    private func descriptor(
        of entry: PacketLog.Entry, at position: Int64, in log: borrowing PacketLog
    ) -> OutgoingDescriptor? {
        guard let source, entry.descriptor.exists else { return nil }
        return OutgoingDescriptor(
            entry.descriptor, source: log.descriptorBytes(at: position),
            frameNumber: entry.descriptor.frameNumber &+ source.frameOffset, activeTargets: nil)
    }

    private mutating func timestamp(of entry: PacketLog.Entry) -> UInt32 {
        let rate = codec.clockRate
        if let newest, let timeline = source!.timeline {
            let step = rate.span(ofTicks: Int64(Int32(bitPattern: entry.timestamp &- newest.original)))
            let difference = step - (entry.arrival - newest.arrival)
            // The first packet of a publisher has another clock than the one before.
            let isFirst = timeline.origin == entry.timestamp
            if !isFirst, max(difference, .zero - difference) > Self.longestStep { source!.timeline = nil }
        }
        if source!.timeline == nil { source!.timeline = self.timeline(from: entry, edge: entry.timestamp) }
        let timestamp = source!.timeline!.timestamp(of: entry.timestamp)
        if newest.map({ Int32(bitPattern: timestamp &- $0.timestamp) >= 0 }) ?? true {
            newest = (timestamp, entry.arrival, entry.timestamp)
        }
        return timestamp
    }

    private mutating func write(
        _ entry: PacketLog.Entry, _ payload: ByteView, descriptor: OutgoingDescriptor?, number: Int64,
        timestamp: UInt32, into buffer: MutableByteView
    ) -> Int {
        newestSequence = max(newestSequence, number)
        var header = header
        header.marker = entry.marker
        header.sequenceNumber = UInt16(truncatingIfNeeded: number)
        header.timestamp = timestamp
        var values = entry.forwarded
        values.rid = rid
        let size = header.write(into: buffer, extensions: values, descriptor: descriptor, map: extensions).size
        source!.pictures.copy(payload, into: buffer.extracting(size...))
        if number == newestSequence, let numbers = VPXPictureNumbers(codec, payload.span) {
            pictureNumbers = source!.pictures.applied(to: numbers)
        }
        if number == newestSequence, entry.descriptor.exists {
            newestFrame = entry.descriptor.frameNumber &+ source!.frameOffset
        }
        packetCount &+= 1
        octetCount &+= UInt32(payload.count)
        return size + payload.count
    }

    /// Writes a sender report with the capture clock of the publisher's track, if it is due and the clock is known.
    /// `offset` is the duration that the receiver of the report adds to its time. Returns the size in bytes.
    mutating func report(
        _ clock: CaptureClock?, offset: TimeSpan, into buffer: MutableByteView, at now: Instant
    ) -> Int? {
        guard let clock, let newest, let timeline = source?.timeline else { return nil }
        // During the compressed frames, timestamps do not advance with the times of capture.
        guard Int64(Int32(bitPattern: newest.original &- timeline.origin)) >= timeline.span else { return nil }
        if let nextReport, now < nextReport { return nil }
        nextReport = now + Self.reportInterval
        var writer = RTCPWriter(buffer)
        writer.senderReport(
            SenderInformation(
                ssrc: header.ssrc, ntpTimestamp: (clock.wallTime(of: newest.original) - offset).ntpTimestamp,
                rtpTimestamp: newest.timestamp, packetCount: packetCount, octetCount: octetCount))
        return writer.count
    }

    /// Makes a sender report due, because the publisher has changed.
    mutating func renewReport() { nextReport = nil }
}

/// A stream without a publisher of its own, which forwards the packets of successive other streams of this SFU.
struct StreamSplice {
    let stream: StreamID
    /// The number of the stream's peer, and the index of its stream.
    let peer: PeerID
    let target: Int
    /// The layers in their order, and audio.
    var tracks: [SplicedTrack]
    /// The publisher to which the tracks change, each at its next key frame; nil for none.
    var pending: (peer: PeerID, index: Int, since: Instant)?
    /// The publisher of the tracks that have changed; nil before the first one.
    var current: (peer: PeerID, index: Int)?
    /// The publisher of the tracks that have not changed; nil if all have.
    var former: (peer: PeerID, index: Int)?

    /// The maximum age of a key frame with which a track begins at once. Older ones are used if no newer one arrives in
    /// time.
    static let replayAge = TimeSpan.seconds(3 as Int64)
    static let newerKeyFrameTime = TimeSpan.milliseconds(500)
    /// The interval in which requests for key frames are repeated. The publisher's own limits apply in addition.
    static let requestInterval = TimeSpan.milliseconds(100)
}
