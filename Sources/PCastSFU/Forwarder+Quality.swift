import PCastCore
import PCastRTP
import PCastWebRTC

/// The data quality of each end (Phenix: "Data Quality Feedback"). It is measured each half second, and an event
/// reports each change.
extension Forwarder {
    /// Measures the path from a publisher and those to its viewers, if this is due. Returns false if the publisher has
    /// exceeded its bit rate by too much for too long and must be removed.
    mutating func checkQuality(stream index: Int, at now: Instant) -> Bool {
        guard let due = streams[index].quality.nextQualityCheck, now >= due, !streams[index].isEnding else {
            return true
        }
        streams[index].quality.nextQualityCheck = now + StreamQuality.interval
        streams[index].quality.measure(streams[index].receiver, at: now)
        let measured = streams[index].quality.bitrate
        let isPublisherHere = streams[index].publisherShard == nil
        if isPublisherHere, streams[index].quality.ceiling.observe(measured, at: now) {
            return false
        }
        let stream = streams.address(index)
        let observation = stream.pointee.quality.observation(
            of: stream.pointee.receiver, isAway: stream.pointee.isAway, at: now)
        if let row = stream.pointee.quality.machine.observe(observation, at: now), isPublisherHere {
            events.append(.dataQuality(stream.pointee.peer, row))
        }
        if isPublisherHere, let findings = stream.pointee.takeFindings(at: now) {
            events.append(
                .videoFindings(
                    stream.pointee.peer, isReordered: findings.isReordered,
                    keyFrameInterval: findings.keyFrameInterval))
        }
        for viewer in stream.pointee.viewers {
            checkQuality(viewer: viewer, at: now)
            followLosses(viewer: viewer, at: now)
        }
        askOnceMore(stream: index, at: now)
        return true
    }

    /// Asks the publisher of a single layer for a lower bit rate, or for its full one, depending on its viewers' links.
    mutating func checkLinks(stream index: Int, at now: Instant) {
        guard let due = streams[index].quality.nextLinksCheck, now >= due, !streams[index].isEnding else { return }
        streams[index].quality.nextLinksCheck = now + StreamQuality.linksInterval
        let stream = streams.address(index)
        let full = stream.pointee.quality.desiredBitrateInFull(stream.pointee.receiver)
        var links = ViewersLinks(full: full)
        swap(&links.estimates, &stream.pointee.quality.links)
        links.estimates.removeAll(keepingCapacity: true)
        for viewerIndex in stream.pointee.viewers {
            let viewer = viewers.address(viewerIndex)
            // The publisher is not asked for less because of viewers who do not receive its layer.
            guard viewer.pointee.isWatching, viewer.pointee.isCounted, !viewer.pointee.isEnding, !viewer.pointee.isAway,
                !viewer.pointee.needsOtherCodec, !viewer.pointee.lacksCodec
            else { continue }
            links.add(
                viewer.pointee.sender.estimate, selection: viewer.pointee.selection,
                requestsVideo: viewer.pointee.sender.video != nil && stream.pointee.layers.exist,
                isKnown: viewer.pointee.quality.isFresh(at: now))
        }
        if let publisherShard = stream.pointee.publisherShard {
            reportLinks(links, stream: index, to: publisherShard)
            swap(&links.estimates, &stream.pointee.quality.links)
            return
        }
        for replica in stream.pointee.replicas { links.add(replica) }
        if stream.pointee.layers.exist, !stream.pointee.hasLowerLayers, let full {
            stream.pointee.quality.sharedLimit.observe(
                estimates: &links.estimates, viewers: links.count, limited: links.limited, wanted: full, at: now)
        } else if stream.pointee.hasLowerLayers, stream.pointee.quality.sharedLimit.bitrate != nil {
            // Renditions are offered now, so that nobody else receives less.
            stream.pointee.quality.sharedLimit = SharedLimit()
        }
        swap(&links.estimates, &stream.pointee.quality.links)
        stream.pointee.quality.noteLimit(at: now)
        stream.pointee.receiver.setBitrateLimit(stream.pointee.quality.request, at: now)
        stream.pointee.quality.isVideoDropped = links.subscribers > 0 && links.blind == links.subscribers
        forwardLimit(ofSpliced: index, at: now)
        updateReplicas(of: index, at: now)
    }

    private mutating func checkQuality(viewer index: Int, at now: Instant) {
        let viewer = viewers.address(index)
        guard viewer.pointee.isWatching, !viewer.pointee.isEnding else { return }
        let stream = streams.address(viewer.pointee.stream)
        let publisher = stream.pointee.quality.machine
        let sharedLimit = stream.pointee.quality.sharedLimit
        let evidence = viewer.pointee.quality.evidence(
            &viewer.pointee.sender, hasLayers: stream.pointee.hasLowerLayers, wanted: stream.pointee.quality.bitrate,
            desiredBitrateInFull: sharedLimit.desiredBitrateInFull)
        let observation = ViewerQuality.Observation(
            publisher: publisher.quality, hasVideo: publisher.hasVideo, hasAudio: publisher.hasAudio,
            requestsVideo: viewer.pointee.sender.video != nil, requestsAudio: viewer.pointee.sender.audio != nil,
            selection: viewer.pointee.qualitySelection, downlink: evidence, reports: viewer.pointee.quality.reports,
            isAway: viewer.pointee.isAway)
        if let row = viewer.pointee.quality.machine.observe(observation, at: now) {
            events.append(.dataQuality(viewer.pointee.peer, row))
        }
    }

    // MARK: Replicas

    func update(of index: Int, at now: Instant) -> ReplicaUpdate {
        let stream = streams.address(index)
        return ReplicaUpdate(
            isAway: stream.pointee.isAway, pausedTracks: stream.pointee.receiver.pausedTracks,
            limit: stream.pointee.quality.sharedLimit, isVideoDropped: stream.pointee.quality.isVideoDropped,
            unansweredLayers: stream.pointee.receiver.unansweredLayers(at: now))
    }

    mutating func updateReplicas(of index: Int, at now: Instant) {
        guard !streams[index].replicas.isEmpty else { return }
        let update = update(of: index, at: now)
        for replica in streams[index].replicas {
            shardLinks.give(.update(streams[index].peer, update), to: replica.shard)
        }
    }

    /// Sends a summary of the viewers' links. It repeats the subscriptions, because a message about a change may be
    /// lost.
    mutating func reportLinks(_ links: ViewersLinks, stream index: Int, to publisherShard: Int) {
        let stream = streams.address(index)
        shardLinks.give(.subscribers(stream.pointee.peer, stream.pointee.subscribers), to: publisherShard)
        var summary = StreamReplica.Links()
        summary.count = links.count
        summary.limited = links.limited
        summary.subscribers = links.subscribers
        summary.blind = links.blind
        summary.counted = stream.pointee.countedViewers
        let estimates = links.estimates.prefix(ShardMessageBatch.byteCapacity / MemoryLayout<Bitrate>.stride)
        estimates.withByteView { bytes in
            shardLinks.give(bytes, to: publisherShard) { .links(stream.pointee.peer, summary, $0) }
        }
    }
}

/// The time for which viewers are asked to hold frames.
extension Forwarder {
    /// Returns the values of WebRTC's playout-delay header extension.
    ///
    /// Minimum and maximum are equal if all viewers show the same frame; a browser then uses a buffer of that length.
    /// Both are zero on a low-jitter path.
    func playoutDelay(stream index: Int, least: TimeSpan, isLowJitter: Bool) -> PlayoutDelay {
        if let isJoint = streams[index].playout { return PlayoutDelay(minimum: isJoint, maximum: isJoint) }
        if isLowJitter, least == .zero { return PlayoutDelay(minimum: .zero, maximum: .zero) }
        return PlayoutDelay(minimum: least, maximum: max(least, .seconds(10)))
    }

    /// Asks a viewer to hold frames for as long as retransmissions take on its hop and on the publisher's hop.
    mutating func followLosses(viewer viewerIndex: Int, at now: Instant) {
        let viewer = viewers.address(viewerIndex)
        guard viewer.pointee.isWatching else { return }
        let stream = streams.address(viewer.pointee.stream)
        let estimate = viewer.pointee.sender.estimate
        if viewer.pointee.quality.isSettled(at: now) {
            // A full link loses packets because it is full, which retransmissions do not help.
            if !estimate.isCongested { viewer.pointee.quality.repair.observe(estimate.lossRate, at: now) }
            viewer.pointee.quality.lowJitter.observe(
                loss: estimate.lossRate, queue: estimate.queueDelay ?? .zero, jitter: .zero, at: now)
        }
        guard stream.pointee.playout == nil, viewer.pointee.sender.video != nil else { return }
        let own = viewer.pointee.quality.repair.delay(roundTrip: viewer.pointee.sender.roundTrip)
        let publishers = stream.pointee.quality.repair.delay(
            roundTrip: stream.pointee.receiver.roundTrip ?? .milliseconds(50))
        let least = max(viewer.pointee.playout ?? .zero, own + publishers)
        viewer.pointee.sender.video?.pointee.stream.playoutDelay = playoutDelay(
            stream: viewer.pointee.stream, least: least,
            isLowJitter: viewer.pointee.quality.lowJitter.isLowJitter(at: now)
                && stream.pointee.quality.lowJitter.isLowJitter(at: now))
    }
}

/// A summary of the links of a stream's viewers, to which viewers are added one by one.
struct ViewersLinks {
    /// The bit rate of the stream without any limit; nil while it is unknown.
    let full: Bitrate?
    /// The usable bit rate of each link. A link that was not found to carry less is assumed to carry all.
    var estimates: [Bitrate] = []
    private(set) var count = 0
    private(set) var limited = 0
    /// The number of viewers that subscribe to video.
    private(set) var subscribers = 0
    /// The number of these viewers whose links cannot carry any video.
    private(set) var blind = 0

    init(full: Bitrate?) { self.full = full }

    /// Adds all viewers of a replica.
    mutating func add(_ replica: StreamReplica) {
        count += replica.links.count
        limited += replica.links.limited
        subscribers += replica.links.subscribers
        blind += replica.links.blind
        estimates.append(contentsOf: replica.estimates)
    }

    /// Adds a viewer. `isKnown` is whether the viewer's reports are recent.
    mutating func add(_ estimate: BandwidthEstimate, selection: LayerSelection, requestsVideo: Bool, isKnown: Bool) {
        count += 1
        if let full, isKnown {
            let deliverable = estimate.isLimited ? min(LinkLimitation.usable(of: estimate.target), full) : full
            estimates.append(deliverable)
            if LinkLimitation.isTooSmall(deliverable, for: full) { limited += 1 }
        }
        guard requestsVideo, isKnown else { return }
        subscribers += 1
        switch selection.choice {
        case .layer: break
        case .audioOnly, .nothing: if selection.cause == .link { blind += 1 }
        }
    }
}
