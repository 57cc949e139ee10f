package import PCastCore
import PCastRTP
import PCastWebRTC

/// A complete video frame or audio packet of a published track, for outputs of the platform other than viewers.
package struct PublishedUnit: Sendable {
    /// A track of a stream.
    package enum Track: Hashable, Sendable {
        /// A layer of the video in the publisher's order.
        case video(layer: Int)
        /// An audio track. Only the first one, 0, is in the SFU.
        case audio(Int)
    }

    /// The output that a unit is read for.
    package enum Use: Hashable, Sendable {
        /// Packaging for HLS and recordings.
        case packaging
        /// The source of renditions.
        case renditions
        /// The transport stream of SRT viewers.
        case transportStream
    }

    /// The output that the unit was read for.
    package var use = Use.packaging
    /// The stream.
    package let stream: StreamID
    /// The layer of the video in the publisher's order; nil for audio.
    package let layer: Int?
    /// The number of the audio track. A further track of a publisher in this process is not 0.
    package var audioTrack = 0
    /// The track.
    package var track: Track { layer.map { .video(layer: $0) } ?? .audio(audioTrack) }
    /// The codec.
    package let codec: Codec
    /// The data, in the form of `EncodedFrame`.
    package let bytes: [UInt8]
    /// Whether the unit can be decoded without another.
    package let isKeyFrame: Bool
    /// The RTP timestamp, unwrapped.
    package let timestamp: Int64
    /// The time of capture by the SFU's clock.
    package let captureTime: WallTime

    /// Creates a unit.
    package init(
        stream: StreamID, layer: Int?, codec: Codec, bytes: [UInt8], isKeyFrame: Bool, timestamp: Int64,
        captureTime: WallTime
    ) {
        self.stream = stream
        self.layer = layer
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.timestamp = timestamp
        self.captureTime = captureTime
    }
}

/// Assembles the units of one track from its log, in which it has a position like a viewer.
struct TrackReader: ~Copyable {
    let stream: StreamID
    let use: PublishedUnit.Use
    /// The publisher whose track is read. Another publisher may resume the stream.
    let publisher: PeerID
    /// The layer of the units; nil for audio.
    let layer: Int?
    /// The rendition that is read while the layer has a codec that the output cannot have; nil for none.
    private(set) var substitute: Int?
    /// The layer that is read; nil for audio.
    var source: Int? { substitute ?? layer }
    /// The codec of the units.
    private(set) var codec: Codec
    /// The codecs that the output can have.
    private let readable: Set<Codec>
    /// Whether the track has a codec now that the output cannot have, and no rendition is read instead.
    private(set) var isSuspended: Bool
    private var position: Int64
    private var buffer: JitterBuffer

    init(
        stream: StreamID, use: PublishedUnit.Use = .packaging, publisher: PeerID, layer: Int?, codec: Codec,
        readable: Set<Codec>, position: Int64, isSuspended: Bool = false,
        parameterSets: VideoParameterSets = VideoParameterSets()
    ) {
        self.stream = stream
        self.use = use
        self.publisher = publisher
        self.layer = layer
        self.codec = codec
        self.readable = readable
        self.isSuspended = isSuspended
        self.position = position
        buffer = JitterBuffer(codec: codec, maximumPayloadSize: PacketLog.maximumPayloadSize)
        if codec.mediaType == .video { buffer.remember(parameterSets) }
    }

    /// Whether a key frame must be requested.
    var needsKeyFrame: Bool { !isSuspended && buffer.needsKeyFrame }

    /// Follows a change of the layer's codec at a position of its log. Units are delivered while the output can have the codec.
    /// A rendition that is read already continues, if the output cannot have this codec either.
    mutating func change(to codec: Codec, at position: Int64) {
        let isReadable = readable.contains(codec)
        if !isReadable, substitute != nil { return }
        substitute = nil
        isSuspended = !isReadable
        if isReadable { self.codec = codec }
        buffer.change(to: self.codec)
        self.position = position
    }

    /// Returns whether the output can have a codec.
    func accepts(_ codec: Codec) -> Bool { readable.contains(codec) }

    /// Reads a rendition from a position of its log on. Its units are those of the layer.
    mutating func begin(substitute: Int, _ codec: Codec, at position: Int64) {
        self.substitute = substitute
        isSuspended = false
        self.codec = codec
        buffer.change(to: codec)
        self.position = position
    }

    /// Reads the packets that were appended since the last call, and delivers the units that they complete.
    mutating func read(
        _ track: borrowing PublishedTrack, _ clock: WallClockReference, at now: Instant,
        _ deliver: (PublishedUnit) -> Void
    ) {
        guard !isSuspended else { return }
        position = max(position, track.log.start)
        while position < track.log.end {
            let entry = track.log[position]
            // Parameter sets that the SFU repeats have no sequence number.
            if entry.sequence >= 0 {
                _ = buffer.insert(
                    payload: track.log.payload(at: position),
                    sequenceNumber: UInt16(truncatingIfNeeded: entry.sequence), timestamp: entry.timestamp,
                    marker: entry.marker, at: entry.arrival)
            }
            position += 1
            poll(track, clock, at: now, deliver)
        }
        poll(track, clock, at: now, deliver)
    }

    private mutating func poll(
        _ track: borrowing PublishedTrack, _ clock: WallClockReference, at now: Instant,
        _ deliver: (PublishedUnit) -> Void
    ) {
        while let output = buffer.poll(at: now) {
            guard case .frame(let frame) = output else { continue }
            let timestamp = UInt32(truncatingIfNeeded: frame.timestamp.ticks)
            let captured = track.captureClock?.wallTime(of: timestamp)
            var unit = PublishedUnit(
                stream: stream, layer: layer, codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                timestamp: frame.timestamp.ticks, captureTime: captured ?? clock.wallTime(at: frame.firstArrival))
            unit.use = use
            deliver(unit)
        }
    }
}

/// The reading of published tracks. The caller finds the streams.
extension Forwarder {
    /// Begins to assemble the units of the tracks of a stream that have one of the codecs, or may have it later. The tracks
    /// then count as watched, so that the publisher sends them.
    ///
    /// Packaging begins with the last key frame, and with the audio that is kept, because an encoder that makes no key frames
    /// on request may send the next one seconds later.
    ///
    /// - Returns: The codec of each track that is read, by its layer; nil for audio. It is empty if this shard does not
    ///   have the publisher or already reads the stream for the same output.
    mutating func beginReading(
        stream index: Int, codecs readable: Set<Codec>, for use: PublishedUnit.Use, at now: Instant
    ) -> [Int?: Codec] {
        guard streams[index].publisherShard == nil else { return [:] }
        let (stream, publisher) = (streams[index].id, streams[index].peer)
        guard !isReading(stream, of: publisher, for: use) else { return [:] }
        var codecs: [Int?: Codec] = [:]
        for layer in streams[index].layers.indices where !streams[index].receiver.isRendition(layer) {
            guard let current = streams[index].layers[layer].sourceFormat?.codec else { continue }
            let isReadable = readable.contains(current)
            // A later publisher of a stream may send a codec that the output can have. Until then a rendition may have it.
            let later = streams[index].formats.map(\.codec).first(where: readable.contains)
            let rendition = later == nil ? nil : streams[index].renditionCodec(of: layer)
            let made = rendition.flatMap { readable.contains($0) ? $0 : nil }
            guard let codec = isReadable ? current : made ?? (use == .packaging ? later : nil) else { continue }
            var position = streams[index].layers[layer].log.end
            if use == .packaging, isReadable, let keyFrame = streams[index].layers[layer].log.newestKeyFrame {
                position = keyFrame
            }
            let number = readers.insert(
                TrackReader(
                    stream: stream, use: use, publisher: publisher, layer: layer, codec: codec, readable: readable,
                    position: position, isSuspended: !isReadable,
                    parameterSets: streams[index].layers[layer].parameterSets))
            codecs[layer] = codec
            addSubscribers(1, of: .video, layer: layer, stream: index, at: now)
            if isReadable { requestKeyFrame(stream: index, layer: layer) }
            beginSubstitute(reader: number, stream: index, at: now)
        }
        if let codec = streams[index].audio.sourceFormat?.codec, readable.contains(codec) {
            let position = use == .packaging ? streams[index].audio.log.start : streams[index].audio.log.end
            _ = readers.insert(
                TrackReader(
                    stream: stream, use: use, publisher: publisher, layer: nil, codec: codec, readable: readable,
                    position: position))
            codecs[Int?.none] = codec
            addSubscribers(1, of: .audio, stream: index, at: now)
        }
        return codecs
    }

    /// Ends what `beginReading` began. The index is nil if the stream has ended.
    mutating func endReading(
        _ stream: StreamID, for use: PublishedUnit.Use = .packaging, at index: Int?, now: Instant
    ) {
        for number in 0..<readers.endIndex
        where readers.contains(number) && readers[number].stream == stream && readers[number].use == use {
            let reader = readers.remove(number)
            guard let index, streams[index].peer == reader.publisher else { continue }
            let type = reader.layer == nil ? MediaType.audio : .video
            addSubscribers(-1, of: type, layer: reader.layer ?? 0, stream: index, at: now)
            if let substitute = reader.substitute {
                addSubscribers(-1, of: .video, layer: substitute, stream: index, at: now)
            }
        }
    }

    /// Lets the readers of a layer follow a change of its codec, after which its next packet begins a key frame.
    mutating func followCodec(readersOf index: Int, layer: Int, to codec: Codec, at now: Instant) {
        for number in 0..<readers.endIndex
        where readers.contains(number) && readers[number].publisher == streams[index].peer {
            guard readers[number].layer == layer else { continue }
            let former = readers[number].substitute
            readers.address(number).pointee.change(to: codec, at: streams[index].layers[layer].log.end)
            if let former, readers[number].substitute == nil {
                addSubscribers(-1, of: .video, layer: former, stream: index, at: now)
            }
            beginSubstitute(reader: number, stream: index, at: now)
        }
    }

    /// Lets a reader whose output cannot have the codec of a layer read the rendition in the layer's size, if the stream has
    /// renditions that the output can have. The rendition then counts as watched, so that it is made.
    private mutating func beginSubstitute(reader number: Int, stream index: Int, at now: Instant) {
        let rendition = Rendition.transcodedLayer
        guard readers[number].isSuspended, let layer = readers[number].layer,
            let codec = streams[index].renditionCodec(of: layer), readers[number].accepts(codec)
        else { return }
        readers.address(number).pointee.begin(
            substitute: rendition, codec, at: streams[index].layers[rendition].log.end)
        addSubscribers(1, of: .video, layer: rendition, stream: index, at: now)
        requestKeyFrame(stream: index, layer: rendition)
    }

    /// Returns the layer of which a key frame must be requested for the units of a layer; nil if the output waits until the
    /// layer has another codec, so that key frames would be of no use for it. Other outputs may read another layer, because
    /// they can have other codecs.
    func source(ofUnitsOf layer: Int, _ stream: StreamID, for use: PublishedUnit.Use) -> Int? {
        if awaitsCodec(of: layer, stream, for: use) { return nil }
        for number in 0..<readers.endIndex where readers.contains(number) && readers[number].use == use {
            guard readers[number].stream == stream, readers[number].layer == layer else { continue }
            if let substitute = readers[number].substitute { return substitute }
        }
        return layer
    }

    /// Returns whether the units of a stream of a publisher are assembled for an output.
    func isReading(_ stream: StreamID, of publisher: PeerID, for use: PublishedUnit.Use) -> Bool {
        for number in 0..<readers.endIndex where readers.contains(number) && readers[number].use == use {
            if readers[number].stream == stream, readers[number].publisher == publisher { return true }
        }
        return false
    }

    /// Returns whether an output waits until a layer has another codec, so that key frames would be of no use for it.
    func awaitsCodec(of layer: Int, _ stream: StreamID, for use: PublishedUnit.Use) -> Bool {
        for number in 0..<readers.endIndex where readers.contains(number) && readers[number].isSuspended {
            guard readers[number].use == use else { continue }
            if readers[number].stream == stream, readers[number].layer == layer { return true }
        }
        return false
    }

    /// Returns whether the publisher of a stream sends a key frame for each request.
    func answersKeyFrameRequests(stream index: Int, at now: Instant) -> Bool {
        for layer in streams[index].receiver.sentLayers
        where streams[index].receiver.ignoresKeyFrameRequests(layer: layer, at: now) {
            return false
        }
        return true
    }

    /// Delivers the units that were completed since the last call. `indices` has the streams of this shard.
    mutating func readUnits(of indices: [StreamID: Int], at now: Instant, _ deliver: (PublishedUnit) -> Void) {
        if !lastUnits.isEmpty {
            for unit in lastUnits { deliver(unit) }
            lastUnits = []
        }
        for number in 0..<readers.endIndex where readers.contains(number) {
            guard let index = indices[readers[number].stream], streams[index].peer == readers[number].publisher else {
                // The stream has ended, or another publisher resumed it.
                _ = readers.remove(number)
                continue
            }
            read(number, stream: index, at: now, deliver)
        }
    }

    /// Reads the units of a stream that ends. Its packets are removed before units are delivered again.
    mutating func readLastUnits(stream index: Int, at now: Instant) {
        var units: [PublishedUnit] = []
        for number in 0..<readers.endIndex where readers.contains(number) {
            guard readers[number].stream == streams[index].id, readers[number].publisher == streams[index].peer
            else { continue }
            read(number, stream: index, at: now) { units.append($0) }
        }
        lastUnits += units
    }

    /// Reads the units of a reader that were completed since the last call.
    private mutating func read(
        _ number: Int, stream index: Int, at now: Instant, _ deliver: (PublishedUnit) -> Void
    ) {
        let address = readers.address(number)
        guard let layer = address.pointee.source else {
            return address.pointee.read(streams[index].audio, clock, at: now, deliver)
        }
        guard streams[index].layers.indices.contains(layer) else { return }
        address.pointee.read(streams[index].layers[layer], clock, at: now, deliver)
        if address.pointee.needsKeyFrame { requestKeyFrame(stream: index, layer: layer) }
    }
}

extension SFU {
    /// Begins to assemble the units of the tracks of a stream that have one of the codecs. The tracks then count as
    /// watched, so that the publisher sends them.
    ///
    /// - Returns: The codec of each track that is read, by its layer; nil for audio. It is empty if this shard does not
    ///   have the publisher or already reads the stream for the same output.
    package mutating func beginReading(
        _ stream: StreamID, codecs readable: Set<Codec> = Set(Codec.allCases),
        for use: PublishedUnit.Use = .packaging, at now: Instant
    ) -> [Int?: Codec] {
        streamIndices[stream].map { forwarder.beginReading(stream: $0, codecs: readable, for: use, at: now) } ?? [:]
    }

    /// Ends what ``beginReading(_:codecs:for:at:)`` began. It does nothing if the stream is not read for the output.
    package mutating func endReading(
        _ stream: StreamID, for use: PublishedUnit.Use = .packaging, at now: Instant
    ) {
        forwarder.endReading(stream, for: use, at: streamIndices[stream], now: now)
    }

    /// Whether the units of any stream are assembled.
    package var isReadingUnits: Bool { forwarder.readers.count > 0 || !forwarder.lastUnits.isEmpty }

    /// Returns whether a stream's publisher sends a key frame for each request; false for an unknown stream. It is known
    /// when the first key frame after a request has arrived.
    package func answersKeyFrameRequests(_ stream: StreamID, at now: Instant) -> Bool {
        guard let index = streamIndices[stream] else { return false }
        return forwarder.answersKeyFrameRequests(stream: index, at: now)
    }

    /// Returns whether a packet of any layer of a stream has arrived; false for an unknown stream. Layers do not count while
    /// they have a codec that the packager cannot have.
    package func receivesVideo(_ stream: StreamID) -> Bool {
        guard let index = streamIndices[stream] else { return false }
        for layer in forwarder.streams[index].receiver.sentLayers
        where forwarder.streams[index].layers[layer].log.end > 0
            && !forwarder.awaitsCodec(of: layer, stream, for: .packaging)
        {
            return true
        }
        return false
    }

    /// Delivers the units that were completed since the last call. It does nothing while no stream is read.
    package mutating func readUnits(at now: Instant, _ deliver: (PublishedUnit) -> Void) {
        guard isReadingUnits else { return }
        forwarder.readUnits(of: streamIndices, at: now, deliver)
    }

    /// Requests a key frame of a layer that is read for an output, or of the rendition that is read instead. It does nothing
    /// for an unknown stream or layer, and for a layer that has a codec which the output cannot have.
    package mutating func requestKeyFrame(
        of stream: StreamID, layer: Int, for use: PublishedUnit.Use = .packaging
    ) {
        guard let index = streamIndices[stream], forwarder.streams[index].receiver.layers.indices.contains(layer),
            let source = forwarder.source(ofUnitsOf: layer, stream, for: use)
        else { return }
        forwarder.requestKeyFrame(stream: index, layer: source)
    }
}
