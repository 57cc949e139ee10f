import PCastCore
import PCastRTP
import PCastWebRTC

/// The selection of each viewer's layer, and the switch to it.
extension SFU {
    /// Updates the layer that a viewer should receive.
    mutating func selectLayer(viewer index: Int, at now: Instant) {
        guard viewers[index].sender.video != nil, !viewers[index].isEnding else { return }
        let stream = streams.address(viewers[index].stream)
        let viewer = viewers.address(index)
        // If a viewer reports arrivals, its REMB is its own limit rather than an estimate.
        if viewer.pointee.sender.reportsArrivals {
            viewer.pointee.selection.limit = viewer.pointee.sender.receiverLimit
        }
        let isChanged = viewer.pointee.selection.decide(
            stream.pointee.ladder, audio: stream.pointee.audio.bitrate ?? .kilobits(0),
            allowance: viewer.pointee.allowance, at: now)
        let selection = viewer.pointee.selection
        var wanted: Int?
        if case .layer(let layer) = selection.choice { wanted = layer }
        guard isChanged || wanted != viewer.pointee.layers.wanted else { return }
        let isLower = stream.pointee.ladder.isLower(wanted, than: viewer.pointee.layers.current)
        viewer.pointee.layers.select(wanted, urgent: selection.cause == .link && isLower, at: now)
        let receivesAudio = selection.choice != .nothing
        if receivesAudio, !viewer.pointee.receivesAudio, stream.pointee.audio.exists {
            viewer.pointee.sender.audio?.pointee.stream.beginAtEnd(of: stream.pointee.audio.log)
        }
        viewer.pointee.receivesAudio = receivesAudio
        take(layers: viewer.pointee.layers.neededLayers, viewer: index, at: now)
        if viewer.pointee.isWatching { sendScheduled(viewer: index) }
    }

    /// Sends the video that a viewer does not have yet. Returns true if the batch is full.
    mutating func forwardVideo(to viewerIndex: Int, into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let viewer = viewers.address(viewerIndex)
        let stream = streams.address(viewer.pointee.stream)
        guard stream.pointee.layers.exist, let video = viewer.pointee.sender.video else { return false }
        if let layer = viewer.pointee.layers.current,
            video.pointee.stream.isBehindLog(stream.pointee.layers.address(layer).pointee.log)
        {
            viewer.pointee.videoLost(at: now)
            take(layers: viewer.pointee.layers.neededLayers, viewer: viewerIndex, at: now)
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
        let wanted = viewer.pointee.layers.wanted
        return drain.isOver(
            viewer.pointee.sender.estimate,
            needed: wanted.flatMap { stream.pointee.layers[$0].activity.bitrate(at: now) },
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
        guard let keyFrame = stream.pointee.layers[layer].log.newestKeyFrame else { return }
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

    /// Repeats the request for a key frame when a viewer has waited for one second. The home shard may not have
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
