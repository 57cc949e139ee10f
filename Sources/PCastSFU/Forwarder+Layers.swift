import PCastCore
import PCastRTP
import PCastWebRTC

/// The selection of each viewer's layer, and the switch to it.
extension Forwarder {
    /// Updates the layer that a viewer should receive.
    mutating func selectLayer(viewer index: Int, at now: Instant) {
        guard viewers[index].sender.video != nil, !viewers[index].isEnding, viewers[index].node == nil else { return }
        let stream = streams.address(viewers[index].stream)
        let viewer = viewers.address(index)
        // If a viewer reports arrivals, its REMB is its own limit rather than an estimate.
        if viewer.pointee.sender.reportsArrivals {
            viewer.pointee.selection.limit = viewer.pointee.sender.receiverLimit
        }
        let isChanged = viewer.pointee.selection.decide(
            viewer.pointee.needsOtherCodec ? stream.pointee.renditions.ladder : stream.pointee.ladder,
            audio: stream.pointee.audio.bitrate ?? .kilobits(0),
            allowance: viewer.pointee.allowance, at: now)
        let selection = viewer.pointee.selection
        var wanted: Int?
        if case .layer(let layer) = selection.choice, !viewer.pointee.lacksCodec {
            wanted = bridge(to: layer, viewer: index, at: now)
        }
        viewer.pointee.sender.video?.pointee.stream.select(receivable(selection.point, viewer: index))
        if let layer = viewer.pointee.takeLayerWithoutKeyFrame(at: now) {
            requestKeyFrame(stream: viewer.pointee.stream, layer: layer)
        }
        guard isChanged || wanted != viewer.pointee.layers.wanted else { return }
        let isLower =
            viewer.pointee.needsOtherCodec
            ? stream.pointee.renditions.ladder.isLower(wanted, than: viewer.pointee.layers.current)
            : stream.pointee.ladder.isLower(wanted, than: viewer.pointee.layers.current)
        viewer.pointee.layers.select(wanted, urgent: selection.cause == .link && isLower, at: now)
        let receivesAudio = selection.choice != .nothing
        if receivesAudio, !viewer.pointee.receivesAudio, stream.pointee.audio.exists {
            viewer.pointee.sender.audio?.pointee.stream.beginAtEnd(of: stream.pointee.audio.log)
        }
        viewer.pointee.receivesAudio = receivesAudio
        take(layers: viewer.pointee.layers.neededLayers, viewer: index, at: now)
        if viewer.pointee.isWatching { sendScheduled(viewer: index) }
    }

    /// Returns the operating point that a viewer can decode of a selected one. Without the dependency descriptor, decoders
    /// of AV1 do not find where the lower spatial layers of a coded picture end, so that they receive the lowest one only.
    private func receivable(_ point: OperatingPoint, viewer index: Int) -> OperatingPoint {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        let layer = viewer.pointee.layers.current ?? viewer.pointee.layers.wanted ?? 0
        guard let video = viewer.pointee.sender.video, !video.pointee.stream.sendsDescriptors,
            stream.pointee.layers.indices.contains(layer),
            stream.pointee.layers[layer].sourceFormat?.codec == .av1,
            let active = stream.pointee.layers[layer].layerReader.activePoint, active.spatial > 0
        else { return point }
        return point.limited(to: OperatingPoint(spatial: 0, temporal: OperatingPoint.all.temporal))
    }

    /// Sends the video that a viewer does not have yet. Returns true if the batch is full.
    mutating func forwardVideo(to viewerIndex: Int, into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let viewer = viewers.address(viewerIndex)
        let stream = streams.address(viewer.pointee.stream)
        guard stream.pointee.layers.exist, let video = viewer.pointee.sender.video else { return false }
        if let layer = viewer.pointee.layers.current {
            if video.pointee.stream.isBehindLog(stream.pointee.layers.address(layer).pointee.log) {
                viewer.pointee.videoLost(at: now)
                take(layers: viewer.pointee.layers.neededLayers, viewer: viewerIndex, at: now)
            }
        } else if viewer.pointee.node != nil {
            return forwardLayers(to: viewerIndex, into: &batch, at: now)
        }
        if let drain = viewer.pointee.drain, isOver(drain, of: viewerIndex, at: now) { viewer.pointee.drain = nil }
        if let layer = viewer.pointee.layers.current {
            viewer.pointee.repeatUnreported(stream.pointee.layers.address(layer).pointee.log, at: now)
        }
        while true {
            if viewer.pointee.layers.needsSteps, viewer.pointee.drain == nil,
                followLayers(viewer: viewerIndex, at: now) == .hold
            {
                return false
            }
            // Without video, the stream still sends probes that measure what the link carries.
            let layer = viewer.pointee.layers.current ?? viewer.pointee.layers.last ?? 0
            let sending = viewer.pointee.sendVideo(
                &stream.pointee.layers[layer], into: &batch, count: &packetsForwarded, at: now)
            switch sending {
            case .endedFrame: continue
            case .full: return true
            case .idle where viewer.pointee.isSendQueueStale(stream.pointee.layers.address(layer).pointee.log, at: now):
                viewer.pointee.dropQueuedVideo(at: now)
                take(layers: viewer.pointee.layers.neededLayers, viewer: viewerIndex, at: now)
                return false
            case .idle: return resendFormer(to: viewerIndex, into: &batch, at: now)
            }
        }
    }

    /// Pauses the video of a viewer that lost packets on a full link, unless a key frame is being sent.
    mutating func dropQueuedVideo(viewer index: Int, at now: Instant) {
        let viewer = viewers.address(index)
        if let layer = viewer.pointee.layers.current {
            let log = streams.address(viewer.pointee.stream).pointee.layers.address(layer)
            guard !CongestionPause.hasFreshKeyFrame(log.pointee.log, at: now) else { return }
        }
        viewer.pointee.dropQueuedVideo(at: now)
        take(layers: viewer.pointee.layers.neededLayers, viewer: index, at: now)
    }

    private func isOver(_ drain: CongestionPause, of viewerIndex: Int, at now: Instant) -> Bool {
        let viewer = viewers.address(viewerIndex)
        let stream = streams.address(viewer.pointee.stream)
        let (wanted, point) = (viewer.pointee.layers.wanted, viewer.pointee.selection.point)
        let bitrate = wanted.flatMap { stream.pointee.layers[$0].activity.bitrate(at: now) }
        // Only the selected layers in the SSRC have to fit.
        let share = wanted.map { stream.pointee.layers[$0].shares.share(of: point) } ?? 1
        return drain.isOver(
            viewer.pointee.sender.estimate,
            needed: bitrate.map { Bitrate(bitsPerSecond: Int64(Double($0.bitsPerSecond) * share)) },
            askedAt: stream.pointee.quality.askedForLess, at: now)
    }

    /// Retransmits packets of the layer that a viewer received before. Returns true if the batch is full.
    private mutating func resendFormer(to viewerIndex: Int, into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let viewer = viewers.address(viewerIndex)
        guard let former = viewer.pointee.formerLayer, viewer.pointee.sender.video!.pointee.stream.hasFormerResends
        else {
            return false
        }
        let stream = streams.address(viewer.pointee.stream)
        while true {
            let sending = viewer.pointee.resend(from: stream.pointee.layers[former].log, into: &batch, at: now)
            switch sending {
            case .sent: packetsForwarded += 1
            case .full: return true
            case .idle, .paced: return false
            }
        }
    }

    /// Takes the next step of a viewer's switch of layers, or of its way to the newest frame, if there is one.
    @discardableResult
    mutating func followLayers(viewer index: Int, at now: Instant) -> LayerSwitch.Step {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        guard stream.pointee.layers.exist, viewer.pointee.layers.needsSteps else { return .stay }
        let former = viewer.pointee.layers.last
        let video = viewer.pointee.sender.video!
        let end = viewer.pointee.layers.current.map { stream.pointee.layers[$0].log.end }
        let step = viewer.pointee.layers.step(
            stream.pointee.keyFrame(
                of: viewer.pointee.layers.wanted, following: former, after: video.pointee.stream.lastArrival, at: now),
            isBetweenFrames: video.pointee.stream.isBetweenFrames, position: video.pointee.stream.position,
            isAtEnd: video.pointee.stream.position == end,
            acceptsAnyAge: stream.pointee.receiver.ignoresKeyFrameRequests(
                layer: viewer.pointee.layers.wanted ?? 0, at: now), at: now)
        switch step {
        case .stay, .hold: return step
        case .ask(let layer):
            requestKeyFrame(stream: viewer.pointee.stream, layer: layer)
            return step
        case .stop: video.pointee.stream.pause()
        case .change(let layer): change(viewer: index, from: former, to: layer)
        case .replay(let layer):
            change(viewer: index, from: former, to: layer)
            let isLong = viewer.pointee.layers.backlog != .live
            requestKeyFrame(stream: viewer.pointee.stream, layer: layer, isTentative: isLong)
        }
        take(layers: viewer.pointee.layers.neededLayers, viewer: index, at: now)
        return step
    }

    private mutating func change(viewer index: Int, from former: Int?, to layer: Int) {
        let viewer = viewers.address(index)
        let stream = streams.address(viewer.pointee.stream)
        guard let keyFrame = stream.pointee.layers[layer].log.newestKeyFrame, selectCodec(of: layer, viewer: index)
        else { return }
        if former == nil { events.append(.videoStarted(viewer.pointee.peer)) }
        guard let former, former != layer else {
            viewer.pointee.formerLayer = nil
            viewer.pointee.sender.video!.pointee.stream.begin(at: keyFrame, in: stream.pointee.layers[layer].log)
            return
        }
        viewer.pointee.formerLayer = former
        viewer.pointee.sender.changeVideo(
            to: stream.pointee.layers[layer].log, at: keyFrame, from: stream.pointee.layers[former].log,
            alignment: stream.pointee.alignment(from: former, to: layer),
            repairsFormer: !viewer.pointee.layers.isUrgent)
    }

    // MARK: Key frames

    /// Repeats the request for a key frame when a viewer has waited for one second. The publisher's shard may not have
    /// received the request of a replica. Later there is no repetition, because the source does not answer.
    mutating func askOnceMore(stream index: Int, at now: Instant) {
        askForKeyFrames(stream: index, whereWaited: .seconds(Int64(1))..<(.seconds(Int64(2))), at: now)
    }

    /// Repeats the requests for key frames of a publisher that was unreachable and did not receive them.
    mutating func renewRequests(stream index: Int, at now: Instant) {
        askForKeyFrames(stream: index, whereWaited: .zero..<TimeSpan(nanoseconds: .max), at: now)
    }

    private mutating func askForKeyFrames(stream index: Int, whereWaited times: Range<TimeSpan>, at now: Instant) {
        let stream = streams.address(index)
        var waiting: UInt8 = 0
        for viewerIndex in stream.pointee.viewers {
            let viewer = viewers.address(viewerIndex)
            guard viewer.pointee.isWatching, !viewer.pointee.isEnding, viewer.pointee.drain == nil,
                viewer.pointee.layers.isChanging, let layer = viewer.pointee.layers.wanted,
                times.contains(viewer.pointee.layers.waited(at: now))
            else { continue }
            waiting |= 1 << UInt8(layer)
        }
        for layer in stream.pointee.layers.indices where waiting & 1 << UInt8(layer) != 0 {
            requestKeyFrame(stream: index, layer: layer)
        }
    }
}

/// The demand for the tracks of a stream. A publisher that supports RFC 7728 pauses tracks without subscribers; see
/// `PauseRequest`.
extension Forwarder {
    /// Subscribes a viewer to tracks from its answer on, before it can be reached. A paused publisher resumes during
    /// the viewer's handshake, so that joining takes at most one more round trip to the publisher.
    mutating func beginSubscription(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addSubscribers(1, of: .audio, stream: stream, at: now) }
        guard viewers[index].sender.video != nil else { return }
        guard viewers[index].node == nil else { return followPauses(viewer: index, at: now) }
        viewers[index].selection.begin(
            viewers[index].needsOtherCodec ? streams[stream].renditions.ladder : streams[stream].ladder)
        selectLayer(viewer: index, at: now)
    }

    /// Ends a viewer's subscription to all tracks.
    mutating func endSubscription(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil, viewers[index].node?.isAudioPaused != true {
            addSubscribers(-1, of: .audio, stream: stream, at: now)
        }
        take(layers: 0, viewer: index, at: now)
    }

    /// Updates the layers that a viewer receives or waits for, given as bits. One that is ending takes no more layers.
    mutating func take(layers mask: UInt8, viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        let before = viewers[index].subscribedLayers
        guard mask != before, mask == 0 || !viewers[index].isEnding else { return }
        viewers[index].subscribedLayers = mask
        for layer in streams[stream].layers.indices {
            let bit: UInt8 = 1 << UInt8(layer)
            if mask & bit != 0, before & bit == 0 {
                addSubscribers(1, of: .video, layer: layer, stream: stream, at: now)
                guard streams[stream].receiver.isPaused(.video, layer: layer) else { continue }
                // No viewer receives a key frame from before the pause.
                streams[stream].layers[layer].discardKeyFrame()
                requestKeyFrame(stream: stream, layer: layer)
            } else if mask & bit == 0, before & bit != 0 {
                addSubscribers(-1, of: .video, layer: layer, stream: stream, at: now)
            }
        }
    }

    /// Changes the number of subscribers of a track, and pauses or resumes the track at its publisher or at the
    /// publisher's shard.
    mutating func addSubscribers(
        _ count: Int, of type: MediaType, layer: Int = 0, stream index: Int, at now: Instant
    ) {
        guard !streams[index].isEnding else { return }
        if type == .video {
            streams[index].layers[layer].subscribers += count
        } else {
            streams[index].audio.subscribers += count
        }
        // The publisher may have had nothing to send until now.
        if count > 0 { streams[index].deadlines.noteData(at: now) }
        let subscribers = type == .video ? streams[index].layers[layer].subscribers : streams[index].audio.subscribers
        if let publisherShard = streams[index].publisherShard {
            return shardLinks.give(
                .subscribers(streams[index].peer, streams.address(index).pointee.subscribers), to: publisherShard)
        }
        if type == .video, streams[index].receiver.isRendition(layer) { return reportRenditions(stream: index) }
        streams[index].receiver.setDemanded(type, layer: layer, subscribers > 0, at: now)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

    /// The time without a message from the publisher's shard after which a replica ends. The message about the end may
    /// be lost.
    static let replicaTimeout = TimeSpan.seconds(5 as Int64)

    /// Whether a publisher has exceeded its time to connect or to send data. A publisher that is paused because nobody
    /// subscribes does not have to send data.
    mutating func isOverdue(publisher index: Int, at now: Instant) -> Bool {
        if let lastUpdate = streams[index].lastUpdate { return now - lastUpdate > Self.replicaTimeout }
        guard streams[index].deadlines.hasPassed(at: now) else { return false }
        guard streams[index].isConnected, !isAnythingDue(of: index) else { return true }
        streams[index].deadlines.noteData(at: now)
        return false
    }

    /// Whether any track of a stream should send: it is wanted, or it has not been asked to pause yet. No track is
    /// asked before its first packet.
    private func isAnythingDue(of index: Int) -> Bool {
        let stream = streams.address(index)
        func isDue(_ track: InboundTrack) -> Bool { track.pause.map { $0.isWanted || !$0.isPaused } ?? true }
        return stream.pointee.receiver.audio.map(isDue) ?? false
            || stream.pointee.receiver.layers.contains(where: isDue)
    }

    /// Updates a replica's subscriptions. A replica counts as one subscriber of each track that has subscribers there.
    mutating func note(
        _ subscribers: StreamReplica.SubscribedTracks, ofReplica replica: Int, stream index: Int, at now: Instant
    ) {
        let before = streams[index].replicas[replica].subscribers
        guard subscribers != before else { return }
        streams[index].replicas[replica].subscribers = subscribers
        if subscribers.audio != before.audio {
            addSubscribers(subscribers.audio ? 1 : -1, of: .audio, stream: index, at: now)
        }
        for layer in streams[index].layers.indices {
            let bit: UInt8 = 1 << UInt8(layer)
            guard subscribers.layers & bit != before.layers & bit else { continue }
            let begins = subscribers.layers & bit != 0
            addSubscribers(begins ? 1 : -1, of: .video, layer: layer, stream: index, at: now)
            if begins, streams[index].receiver.isPaused(.video, layer: layer) {
                // No viewer receives a key frame from before the pause.
                streams[index].layers[layer].discardKeyFrame()
                requestKeyFrame(stream: index, layer: layer)
            }
        }
    }
}
