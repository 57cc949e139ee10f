public import PCastCore
import PCastRTP
import PCastWebRTC

/// The layers of a stream that a process of the platform makes of the publisher's only layer (`Rendition`).
///
/// They are layers like those of a publisher that pauses them while nobody wants them: viewers are switched to and from
/// them in the same way. Their packets have the timestamps of the publisher's layer, so that all share one clock. If they
/// have another codec than the publisher, a viewer receives either the publisher's layer or renditions.
struct StreamRenditions {
    /// The conversion of frames to packets, by layer. A layer has one from its first frame on.
    var tracks: [Int: IngestTrack] = [:]
    /// The wanted layers that were reported last, as bits.
    var reported: UInt8 = 0
    /// The order of the publisher's frames.
    var order = FrameOrder()
    /// The renditions for viewers who do not decode the publisher's codec, if they have another one; otherwise empty.
    var ladder = LayerLadder()
    /// The ladder of the review before.
    var formerLadder = LayerLadder()
}

/// Whether the frames of a source come in another order than that of their presentation, because it has B-frames.
/// Receivers of WebRTC show frames in the order of their arrival.
struct FrameOrder {
    /// The time after the last B-frame in which the source still counts as one with B-frames.
    static let memory = TimeSpan.seconds(30 as Int64)
    /// A larger step back is a jump of the source's clock.
    private static let longestStep = ClockRate.video.ticks(in: .seconds(2 as Int64))

    private var newest: (sequence: Int64, timestamp: UInt32)?
    private var lastReordered: Instant?

    /// Observes a packet.
    mutating func observe(sequence: Int64, timestamp: UInt32, at now: Instant) {
        guard let newest else { return self.newest = (sequence, timestamp) }
        guard sequence > newest.sequence else { return }
        let step = Int64(Int32(bitPattern: timestamp &- newest.timestamp))
        if step < 0, step > -Self.longestStep { lastReordered = now }
        self.newest = (sequence, timestamp)
    }

    /// Whether the source has B-frames.
    func isReordered(at now: Instant) -> Bool { lastReordered.map { now - $0 < Self.memory } ?? false }
}

extension PublishedStream {
    /// Whether viewers whose links carry less than the best layer can receive another one.
    var hasLowerLayers: Bool { ladder.rungs.count { !$0.isReduced } > 1 }

    /// Adds the operating points of the lowest layer to the ladder, if it has several. The frame rate is reduced only
    /// below the lowest spatial layer, because smaller frames are better than a low frame rate.
    mutating func insertOperatingPoints() {
        guard let lowest = ladder.rungs.first, lowest.isAvailable, !receiver.isRendition(lowest.layer),
            let bitrate = layers[lowest.layer].bitrate
        else { return }
        let shares = layers[lowest.layer].shares
        var highest = shares.highest
        if let active = layers[lowest.layer].layerReader.activePoint { highest = highest.limited(to: active) }
        let all = OperatingPoint.all
        for spatial in 0..<highest.spatial {
            insert(OperatingPoint(spatial: spatial, temporal: all.temporal), lowest, highest, bitrate, shares)
        }
        for temporal in 0..<highest.temporal {
            // Without spatial layers, only the frame rate is reduced.
            let spatial = highest.spatial > 0 ? 0 : all.spatial
            insert(OperatingPoint(spatial: spatial, temporal: temporal), lowest, highest, bitrate, shares)
        }
    }

    private mutating func insert(
        _ point: OperatingPoint, _ whole: LayerLadder.Rung, _ highest: OperatingPoint, _ bitrate: Bitrate,
        _ shares: LayerShares
    ) {
        var rung = whole
        rung.point = point
        rung.bitrate = Bitrate(bitsPerSecond: Int64(Double(bitrate.bitsPerSecond) * shares.share(of: point)))
        if point.spatial < highest.spatial {
            let stated = layers[whole.layer].layerReader.structure?.dimensions ?? []
            // Each spatial layer has twice the width and height of the one below, unless the sender states the sizes.
            let steps = Int(highest.spatial - point.spatial)
            rung.dimensions =
                stated.indices.contains(Int(point.spatial))
                ? stated[Int(point.spatial)]
                : whole.dimensions.map { Dimensions(width: $0.width >> steps, height: $0.height >> steps) }
        }
        ladder.insert(rung)
    }

    /// The format of the best layer that the publisher sends, according to its last key frame; nil while it is unknown.
    var bestVideo: CodecParameters? {
        let sent = receiver.sentLayers
        for rung in ladder.rungs.reversed() where sent.contains(rung.layer) {
            if let video = layers[rung.layer].video { return video }
        }
        return nil
    }

    /// The format of renditions that have another codec than the publisher's layer; nil if there are none.
    var otherFormat: SourceFormat? {
        guard receiver.renditionCount > 0, let format = layers[Rendition.transcodedLayer].sourceFormat,
            format.codec != layers[0].sourceFormat?.codec
        else { return nil }
        return format
    }

    /// Returns the codec of the rendition in the size of a layer of the publisher; nil if the stream has no renditions.
    func renditionCodec(of layer: Int) -> Codec? {
        guard layer == 0, receiver.isRendition(Rendition.transcodedLayer) else { return nil }
        return layers[Rendition.transcodedLayer].sourceFormat?.codec
    }

    /// Adds the rendition for viewers who do not decode the publisher's codec, if it has another one, until the layers are
    /// reviewed.
    mutating func prepareOtherCodec() {
        guard otherFormat != nil, renditions.ladder.rungs.isEmpty else { return }
        renditions.ladder.insert(
            LayerLadder.Rung(
                layer: Rendition.transcodedLayer, bitrate: .kilobits(0), dimensions: nil, isAvailable: true))
    }

    /// The formats of the publisher's layers: the one of the newest packets of the first layer, and those that may follow
    /// because publishers of the stream change.
    var formats: [SourceFormat] {
        guard let current = layers[0].sourceFormat else { return [] }
        let further = receiver.layers[0].media.acceptablePayloads.filter { $0.codec != current.codec }
        return [current] + further.map { SourceFormat($0) }
    }

    /// Returns the format in which viewers can receive the video who do not decode the publisher's codec; nil if there is
    /// none, or it cannot be made now.
    mutating func availableOtherFormat(at now: Instant) -> SourceFormat? {
        guard let format = otherFormat else { return nil }
        let layer = Rendition.transcodedLayer
        // A replica does not know whether renditions are offered, but whether they are paused or arrive.
        let isAvailable =
            publisherShard == nil ? receiver.layers[layer].rendition?.isOffered == true : comes(layer, at: now)
        return isAvailable ? format : nil
    }

    /// Reviews the renditions for viewers who do not decode the publisher's codec. The one in the size of the source is
    /// always among them, so that there is a layer to wait for.
    private mutating func reviewOtherCodec(at now: Instant) {
        swap(&renditions.ladder, &renditions.formerLadder)
        renditions.ladder.removeAll()
        let source = layers[0].dimensions
        let full = source.map { Rendition.transcoded.bitrate(of: $0) } ?? .kilobits(0)
        for (layer, rendition) in zip(receiver.sentLayers.upperBound..<layers.count, Rendition.all) {
            if let measured = layers[layer].activity.bitrate(at: now) { layers[layer].bitrate = measured }
            let isAvailable = comes(layer, at: now)
            if rendition != .transcoded {
                let isMade = layers[layer].subscribers > 0
                guard let source, rendition.isUseful(below: source, source: full, isMade: isMade), isAvailable else {
                    continue
                }
            }
            let target = source.map { rendition.bitrate(of: $0) } ?? .kilobits(0)
            renditions.ladder.insert(
                LayerLadder.Rung(
                    layer: layer, bitrate: max(layers[layer].bitrate ?? target, target),
                    dimensions: source.map { rendition.dimensions(of: $0) }, isAvailable: isAvailable,
                    isOnDemand: rendition != .transcoded))
        }
        renditions.ladder.takeAllForAvailable()
    }

    /// Adds the renditions that can be made, and are worth it, to the ladder.
    mutating func insertRenditions(at now: Instant) {
        if otherFormat != nil { return reviewOtherCodec(at: now) }
        guard receiver.renditionCount > 0, ladder.rungs.contains(where: \.isAvailable),
            let source = layers[0].dimensions, let bitrate = layers[0].bitrate
        else { return }
        let isReordered = renditions.order.isReordered(at: now)
        let full = Rendition.transcoded.dimensions(of: source)
        for (layer, rendition) in zip(receiver.sentLayers.upperBound..<layers.count, Rendition.all) {
            if let measured = layers[layer].activity.bitrate(at: now) { layers[layer].bitrate = measured }
            let isMade = layers[layer].subscribers > 0
            let isUseful =
                rendition == .transcoded
                ? isReordered : rendition.isUseful(below: source, source: bitrate, isMade: isMade)
            // A source that is replaced has one rendition in its size.
            let isRepeated = isReordered && rendition != .transcoded && rendition.dimensions(of: source) == full
            guard isUseful, !isRepeated, comes(layer, at: now) else { continue }
            let target = rendition.bitrate(of: source)
            ladder.insert(
                LayerLadder.Rung(
                    layer: layer, bitrate: max(layers[layer].bitrate ?? target, target),
                    dimensions: rendition.dimensions(of: source), isAvailable: true, isOnDemand: true))
            if rendition == .transcoded { ladder.withdraw(0) }
        }
    }

    /// Whether a viewer that wants the publisher's layer receives its rendition until the next key frame: the publisher
    /// makes none on request, and the frames since the last one are too many. `isShown` is whether the viewer receives the
    /// rendition already.
    mutating func needsBridge(isShown: Bool, at now: Instant) -> Bool {
        let rendition = Rendition.transcodedLayer
        guard receiver.isRendition(rendition), otherFormat == nil, receiver.ignoresKeyFrameRequests(layer: 0, at: now),
            let keyFrame = layers[0].log.newestKeyFrame, comes(rendition, at: now)
        else { return false }
        let age = now - layers[0].log[keyFrame].arrival
        if isShown { return age >= LayerSwitch.changeAge }
        // A process takes some time to start, in which a viewer catches up with the frames of a shorter time.
        return age >= (layers[rendition].subscribers > 0 ? LayerSwitch.replayAge : PublishedTrack.longestReplay)
    }

    /// Sets the capture times of renditions, which have the timestamps of the publisher's layer.
    mutating func shareCaptureClock() {
        for layer in layers.indices where receiver.isRendition(layer) {
            layers[layer].captureClock = layers[0].captureClock
        }
    }

    /// Forgets what depends on the timestamps of a layer, whose source has restarted. Its renditions restart too.
    mutating func restart(layer: Int) {
        layers[layer].restart()
        renditions.order = FrameOrder()
        for rendition in layers.indices where receiver.isRendition(rendition) { layers[rendition].restart() }
    }

    /// The time at which a key frame of a rendition must be requested; nil if none is needed.
    var renditionDeadline: Instant? {
        mutating get { receiver.renditionCount > 0 && publisherShard == nil ? receiver.renditionDeadline : nil }
    }
}

extension Forwarder {
    /// Reports which renditions viewers want, if that changed. A rendition that nobody wants counts as one that does not
    /// arrive.
    mutating func reportRenditions(stream index: Int) {
        var wanted: UInt8 = 0
        for layer in streams[index].layers.indices where streams[index].receiver.isRendition(layer) {
            if streams[index].layers[layer].subscribers > 0 {
                wanted |= 1 << UInt8(layer)
            } else {
                streams[index].receiver.setArriving(false, rendition: layer)
            }
        }
        guard wanted != streams[index].renditions.reported else { return }
        streams[index].renditions.reported = wanted
        events.append(.renditionsWanted(streams[index].peer, layers: wanted))
    }

    /// Reports which key frames of renditions must be requested now.
    mutating func pollRenditionRequests(stream index: Int, at now: Instant) {
        guard streams[index].receiver.renditionCount > 0, streams[index].publisherShard == nil else { return }
        let layers = streams[index].receiver.pollRenditionRequests(at: now) & streams[index].renditions.reported
        if layers != 0 { events.append(.renditionKeyFramesWanted(streams[index].peer, layers: layers)) }
    }

    /// Returns the layer that a viewer receives instead of a wanted one, until a key frame of that arrives.
    mutating func bridge(to wanted: Int?, viewer index: Int, at now: Instant) -> Int? {
        let current = viewers[index].layers.current
        guard wanted == 0, current == nil || current == Rendition.transcodedLayer else { return wanted }
        let isNeeded = streams[viewers[index].stream].needsBridge(isShown: current != nil, at: now)
        return isNeeded ? Rendition.transcodedLayer : wanted
    }

    /// Switches viewers to the publisher's layer, of which a key frame has arrived.
    mutating func endBridges(stream index: Int, at now: Instant) {
        guard streams[index].receiver.renditionCount > 0,
            streams[index].layers[Rendition.transcodedLayer].subscribers > 0
        else { return }
        for viewer in streams[index].viewers where viewers[viewer].layers.wanted == Rendition.transcodedLayer {
            selectLayer(viewer: viewer, at: now)
        }
    }

    /// Begins to assemble the video of a stream as the source of renditions. It begins with the newest key frame that is
    /// in the log, so that the renditions need not wait for the next one.
    mutating func beginReadingForRenditions(stream index: Int, at now: Instant) {
        let (stream, publisher) = (streams[index].id, streams[index].peer)
        guard streams[index].publisherShard == nil, streams[index].receiver.renditionCount > 0,
            !isReading(stream, of: publisher, for: .renditions),
            let codec = streams[index].layers[0].sourceFormat?.codec
        else { return }
        let keyFrame = streams[index].layers[0].log.newestKeyFrame
        _ = readers.insert(
            TrackReader(
                stream: stream, use: .renditions, publisher: publisher, layer: 0, codec: codec,
                readable: Set(IngestMedia.videoCodecs), position: keyFrame ?? streams[index].layers[0].log.end,
                parameterSets: streams[index].layers[0].parameterSets))
        addSubscribers(1, of: .video, layer: 0, stream: index, at: now)
        requestKeyFrame(stream: index, layer: 0, isTentative: keyFrame != nil)
    }
}

/// The interface to the process that makes renditions.
extension SFU {
    /// Creates SSRCs for the renditions of a publisher; none if it has no renditions.
    mutating func newRenditionSSRCs(_ terms: PeerOptions) -> [UInt32] {
        terms.hasRenditions ? Rendition.all.map { _ in newSSRC() } : []
    }

    /// Sets whether the renditions of a publisher's video can be made. While they can, the event
    /// ``SFUEvent/renditionsWanted(_:layers:)`` reports which of them viewers want. A publisher that was admitted
    /// without ``PeerOptions/hasRenditions`` has none.
    public mutating func offerRenditions(_ isOffered: Bool, of peer: PeerID, at now: Instant) {
        guard case .publisher(let index) = peers[peer], !forwarder.streams[index].isEnding else { return }
        forwarder.streams[index].receiver.offerRenditions(isOffered)
        forwarder.updateReplicas(of: index, at: now)
    }

    /// Forwards a frame of a rendition to the viewers that want it.
    ///
    /// - Parameters:
    ///   - frame: The frame. Its timestamp is that of the source's frame.
    ///   - layer: The layer.
    ///   - peer: The publisher.
    ///   - now: The current time.
    /// - Returns: False if the publisher has left, has no such rendition, it is withdrawn, nobody wants it, or it has
    ///   another codec.
    @discardableResult
    public mutating func ingestRendition(
        _ frame: EncodedFrame, layer: Int, of peer: PeerID, at now: Instant
    ) -> Bool {
        guard case .publisher(let index) = peers[peer], !forwarder.streams[index].isEnding,
            forwarder.streams[index].receiver.isRendition(layer),
            forwarder.streams[index].layers[layer].subscribers > 0
        else { return false }
        let inbound = forwarder.streams[index].receiver.layers[layer]
        guard let ssrc = inbound.ssrc, inbound.rendition?.isOffered == true else { return false }
        var track =
            forwarder.streams[index].renditions.tracks.removeValue(forKey: layer)
            ?? IngestTrack(renditionOf: inbound.media, ssrc: ssrc, using: &generator)
        defer { forwarder.streams[index].renditions.tracks[layer] = track }
        guard track.accepts(frame) else { return false }
        forwarder.streams[index].receiver.setArriving(true, rendition: layer)
        withTemporaryBytes(IngestTrack.bufferSize) { buffer in
            track.packetize(frame, in: buffer) { packet in
                forwarder.receiveMedia(packet, publisher: index, at: now)
            }
        }
        forwarder.schedule(publisher: index)
        return true
    }

    /// Returns the codec of a stream's video; nil if there is no such stream on this shard, or it has no video.
    package func videoCodec(of stream: StreamID) -> Codec? {
        streamIndices[stream].flatMap { forwarder.streams[$0].layers[0].sourceFormat?.codec }
    }

    /// Returns the codec of a stream's renditions; nil if there is no such stream on this shard, or it has none.
    package func renditionCodec(of stream: StreamID) -> Codec? {
        guard let index = streamIndices[stream], forwarder.streams[index].receiver.renditionCount > 0 else {
            return nil
        }
        return forwarder.streams[index].layers[Rendition.transcodedLayer].sourceFormat?.codec
    }

    /// Begins to assemble the video of a stream as the source of renditions (`PublishedUnit.Use.renditions`). It does
    /// nothing if this shard does not have the publisher, or the stream has no renditions.
    package mutating func beginReadingForRenditions(_ stream: StreamID, at now: Instant) {
        if let index = streamIndices[stream] { forwarder.beginReadingForRenditions(stream: index, at: now) }
    }

    /// Ends what ``beginReadingForRenditions(_:at:)`` began.
    package mutating func endReadingForRenditions(_ stream: StreamID, at now: Instant) {
        forwarder.endReading(stream, for: .renditions, at: streamIndices[stream], now: now)
    }
}
