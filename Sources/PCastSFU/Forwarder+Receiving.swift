import PCastCore
import PCastRTP
import PCastWebRTC

/// Decrypted packets of publishers and viewers.
extension Forwarder {
    // MARK: Publishers

    /// Starts to measure a publisher that is connected.
    mutating func startMeasuring(stream index: Int, at now: Instant) {
        streams[index].deadlines.connected(at: now)
        streams[index].quality.nextQualityCheck = now + StreamQuality.interval
        streams[index].quality.nextLinksCheck = now + StreamQuality.linksInterval
    }

    /// Processes a packet of a publisher of this shard, which the replicas receive too.
    mutating func receiveMedia(_ packet: ByteView, publisher index: Int, at now: Instant) {
        shareWithReplicas(packet, of: index) { .media($0, $1) }
        receiveMedia(packet, stream: index, at: now)
    }

    /// Processes a compound RTCP packet of a publisher of this shard, which the replicas receive too.
    mutating func receiveControl(_ packet: ByteView, publisher index: Int, at now: Instant) {
        shareWithReplicas(packet, of: index) { .control($0, $1) }
        receiveControl(packet, stream: index, at: now)
    }

    /// Sends bytes of a publisher to all replicas. `shardMessage` creates the message from the publisher and the range
    /// of the bytes.
    mutating func shareWithReplicas(
        _ datagram: ByteView, of index: Int,
        as shardMessage: (PeerID, Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let stream = streams.address(index)
        for replica in stream.pointee.replicas {
            shardLinks.give(datagram, to: replica.shard) { shardMessage(stream.pointee.peer, $0) }
        }
    }

    mutating func receiveMedia(_ datagram: ByteView, stream index: Int, at now: Instant) {
        guard let packet = streams[index].receiver.receive(datagram, at: now) else { return }
        if !packet.payload.isEmpty { streams[index].deadlines.noteData(at: now) }
        if !streams[index].hasMedia {
            streams[index].hasMedia = true
            events.append(.mediaStarted(streams[index].peer))
        }
        if packet.isRestart { restartViewers(of: index, packet.type, layer: packet.layer, at: now) }
        if packet.changesCodec { changeCodec(of: index, layer: packet.layer, to: packet.codec, at: now) }
        if streams[index].reviewLayers(clock, at: now) {
            for viewer in streams[index].viewers { selectLayer(viewer: viewer, at: now) }
        }
        // Recovered packets precede the packet that repeats them.
        while let recovered = streams[index].receiver.takeRecovered() {
            append(recovered, of: datagram, stream: index, at: now)
        }
        append(packet, of: datagram, stream: index, at: now)
    }

    private mutating func append(
        _ packet: MediaReceiver.Packet, of datagram: ByteView, stream index: Int, at now: Instant
    ) {
        let payload = datagram.extracting(packet.payload)
        guard packet.type == .video else {
            guard streams[index].audio.append(packet, payload: payload, at: now) != .refused else { return }
            return notePackets(stream: index)
        }
        let layer = packet.layer
        if layer == 0, streams[index].receiver.renditionCount > 0 {
            streams[index].renditions.order.observe(sequence: packet.sequence, timestamp: packet.timestamp, at: now)
        }
        let descriptor = datagram.extracting(packet.dependencyDescriptor)
        let track = streams.address(index).pointee.layers.address(layer)
        switch track.pointee.append(packet, payload: payload, descriptor: descriptor, at: now) {
        case .refused, .waiting: return
        case .appended
        where track.pointee.brokenSince != nil
            && track.pointee.isChainBroken(for: repairTime(stream: index), at: now):
            requestKeyFrame(stream: index, layer: layer)
        case .appended: break
        case .keyFrame(let sequence):
            streams[index].receiver.keyFrameArrived(layer: layer, sequence: sequence, at: now)
            if layer == 0 { endBridges(stream: index, at: now) }
        }
        if !packet.marker { return gather(stream: index, at: now) }
        notePackets(stream: index)
    }

    /// Waits for the other packets of a frame, so that they are sent together. No viewer shows a part of a frame, and
    /// each message to the kernel has a fixed cost. The wait is limited to `gatheringTime`.
    private mutating func gather(stream index: Int, at now: Instant) {
        guard !streams[index].hasPackets, streams[index].gathersUntil == nil else { return }
        streams[index].gathersUntil = now + Self.gatheringTime
        schedule(publisher: index)
    }

    static let gatheringTime = TimeSpan.milliseconds(1)

    /// Returns the time within which a lost packet of a publisher is retransmitted: two requests, and some jitter.
    private func repairTime(stream index: Int) -> TimeSpan {
        (streams[index].receiver.roundTrip ?? .milliseconds(50)) * 2 + .milliseconds(30)
    }

    /// Handles a restart of the source. Viewers of its video resume at its next key frame.
    private mutating func restartViewers(of index: Int, _ type: MediaType, layer: Int, at now: Instant) {
        if type == .video { streams[index].restart(layer: layer) } else { streams[index].audio.restart() }
        for viewer in streams[index].viewers {
            if type == .video, viewers[viewer].node != nil {
                restartLayer(layer, viewer: viewer)
            } else if type == .video {
                guard let current = viewers[viewer].layers.current,
                    current == layer || streams[index].receiver.isRendition(current)
                else { continue }
                viewers[viewer].videoLost(at: now)
                take(layers: viewers[viewer].layers.neededLayers, viewer: viewer, at: now)
            } else if streams[index].audio.exists {
                viewers[viewer].sender.audio?.pointee.stream.beginAtEnd(of: streams[index].audio.log)
            }
        }
        if type == .video { requestKeyFrame(stream: index, layer: layer) }
    }

    mutating func receiveControl(
        _ datagram: ByteView, stream index: Int, at now: Instant
    ) {
        let bytes = datagram.span
        let wallTime = clock.wallTime(at: now)
        var reader = RTCPReader()
        while let control = reader.next(in: bytes) {
            if let track = streams[index].receiver.receive(control, in: bytes, wallTime: wallTime, at: now) {
                streams[index].follow(track.type, layer: track.layer, clock: clock, at: now)
            }
        }
    }

    // MARK: Viewers

    /// Starts to send to a viewer that has its keys, with video at once if possible.
    mutating func startWatching(_ index: Int, at now: Instant) {
        let stream = viewers[index].stream
        viewers[index].deadlines.connected(at: now)
        viewers[index].isWatching = true
        if streams[stream].audio.exists, viewers[index].sender.audio != nil {
            viewers[index].sender.audio!.pointee.stream.beginAtEnd(of: streams[stream].audio.log)
        }
        selectLayer(viewer: index, at: now)
        followLayers(viewer: index, at: now)
        sendScheduled(viewer: index)
    }

    /// Forwards a viewer's request for a key frame of the layer that it sees. A key frame that is already requested
    /// serves the viewer too. A viewer that is alone may always request one; others have a budget.
    private mutating func requestKeyFrame(viewer index: Int, at now: Instant) {
        guard viewers[index].drain == nil else { return }
        // A key frame would only add to the queue of a full link.
        if viewers[index].sender.isCongested { return dropQueuedVideo(viewer: index, at: now) }
        forwardKeyFrameRequest(viewer: index, at: now)
    }

    /// Requests a key frame for a viewer within its budget.
    private mutating func forwardKeyFrameRequest(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        guard let layer = viewers[index].layers.shown, streams[stream].receiver.layers.indices.contains(layer) else {
            return
        }
        let isWaitedFor = streams[stream].receiver.layers[layer].keyFrame.isWanted
        let isAlone = streams.address(stream).pointee.isHereAlone && streams[stream].layers[layer].subscribers <= 1
        guard isWaitedFor || isAlone || viewers[index].keyFrames.take(at: now) else { return }
        requestKeyFrame(stream: stream, layer: layer)
    }

    mutating func receiveControl(
        _ datagram: ByteView, viewer index: Int, waited: TimeSpan, at now: Instant
    ) {
        let bytes = datagram.span
        let wallTime = clock.wallTime(at: now - waited)
        let stream = viewers[index].stream
        viewers[index].quality.reports += 1
        viewers[index].quality.silence.observe(at: now)
        var reader = RTCPReader()
        var budget = NegativeAcknowledgement.maximumCountPerDatagram
        while let control = reader.next(in: bytes) {
            let requests = viewers[index].sender.receive(
                control, in: bytes, budget: &budget, wallTime: wallTime, waited: waited, at: now)
            if viewers[index].node != nil {
                requestKeyFrames(ofLayers: requests.layers, stream: stream)
            } else if requests.keyFrame {
                requestKeyFrame(viewer: index, at: now)
            }
        }
        if viewers[index].node != nil { return followRequests(viewer: index, at: now) }
        let viewer = viewers.address(index)
        viewer.pointee.sender.desiredBitrate = streams[stream].desiredBitrate
        noteScheduledSend(viewer: index, at: now)
        selectLayer(viewer: index, at: now)
        let layer = viewer.pointee.layers.last ?? 0
        if streams[stream].layers.exist {
            viewer.pointee.sender.resolveRequests(.video, in: streams[stream].layers[layer].log, at: now)
            replaceRepairs(viewer: index, at: now)
        }
        if streams[stream].audio.exists {
            viewer.pointee.sender.resolveRequests(.audio, in: streams[stream].audio.log, at: now)
        }
        if viewer.pointee.sender.video?.pointee.stream.waitsToResend == true
            || viewer.pointee.sender.audio?.pointee.stream.waitsToResend == true
        {
            sendScheduled(viewer: index)
        }
    }

    /// The time for which a link may be used to retransmit packets of layers that it does not carry any more.
    private static let repairTimeAboveLayers = TimeSpan.milliseconds(100)

    /// Replaces the retransmissions of layers in one SSRC that a viewer's link does not carry any more by a key frame of the
    /// lower layers, if they would take long.
    ///
    /// Such packets are lost when a link loses much of its capacity at once. Decoders wait for them nevertheless. libwebrtc
    /// decodes no frame after a coded picture that it has in part only, and requests a key frame after three seconds.
    private mutating func replaceRepairs(viewer index: Int, at now: Instant) {
        let viewer = viewers.address(index)
        guard viewer.pointee.selection.cause == .link, let layer = viewer.pointee.layers.current,
            let video = viewer.pointee.sender.video, video.pointee.stream.hasResends
        else { return }
        let rate = viewer.pointee.sender.targetBitrate.bitsPerSecond / 8
        let isCongested = viewer.pointee.sender.isCongested
        let limit = isCongested ? 0 : Int(Double(rate) * Self.repairTimeAboveLayers.seconds)
        let track = streams.address(viewer.pointee.stream).pointee.layers.address(layer)
        let newest = video.pointee.stream.dropResends(aboveLayersIn: track.pointee.log, over: limit)
        guard let dropped = newest else { return }
        // The viewer repeats its requests until a newer key frame has arrived.
        if let keyFrame = track.pointee.log.newestKeyFrame, track.pointee.log[keyFrame].sequence > dropped { return }
        forwardKeyFrameRequest(viewer: index, at: now)
    }

    // MARK: Requests

    /// Requests a key frame from the publisher, or in a replica from the publisher's shard. A nil layer requests none.
    /// A tentative request is one that no viewer waits for.
    mutating func requestKeyFrame(stream index: Int, layer: Int?, isTentative: Bool = false) {
        guard let layer else { return }
        if let publisherShard = streams[index].publisherShard {
            shardLinks.give(
                .keyFrameWanted(streams[index].peer, layer: layer, isTentative: isTentative), to: publisherShard)
        }
        streams[index].receiver.requestKeyFrame(layer: layer, isTentative: isTentative)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }
}
