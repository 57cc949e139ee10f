import PCastCore
import PCastRTP
import PCastWebRTC

/// The data quality of each end (Phenix: "Data Quality Feedback"). It is measured each half second, and an event
/// reports each change.
extension SFU {
    mutating func lookAtQuality(stream index: Int, at now: Instant) {
        guard let due = streams[index].quality.nextLook, now >= due, !streams[index].isEnding else { return }
        streams[index].quality.nextLook = now + StreamQuality.interval
        streams[index].quality.measure(streams[index].receiver, at: now)
        let measured = streams[index].quality.bitrate
        let isHome = streams[index].home == nil
        if isHome, streams[index].quality.ceiling.observe(measured, at: now) {
            return end(publisher: index, reason: .capacity, at: now)
        }
        let stream = streams.address(index)
        let observation = stream.pointee.quality.observation(
            of: stream.pointee.receiver, isAway: stream.pointee.isAway, at: now)
        if let row = stream.pointee.quality.machine.observe(observation, at: now), isHome {
            events.append(.dataQuality(stream.pointee.peer, row))
        }
        for viewer in stream.pointee.viewers {
            lookAtQuality(viewer: viewer, at: now)
            followLosses(viewer: viewer, at: now)
        }
        askOnceMore(stream: index, at: now)
    }

    /// Asks the publisher of a single layer for a lower bit rate, or for its full one, depending on its viewers' links.
    mutating func lookAtLinks(stream index: Int, at now: Instant) {
        guard let due = streams[index].quality.nextLinksLook, now >= due, !streams[index].isEnding else { return }
        streams[index].quality.nextLinksLook = now + StreamQuality.linksInterval
        let stream = streams.address(index)
        let full = stream.pointee.quality.desiredBitrateInFull(stream.pointee.receiver)
        var links = ViewersLinks(full: full)
        swap(&links.estimates, &stream.pointee.quality.links)
        links.estimates.removeAll(keepingCapacity: true)
        for viewerIndex in stream.pointee.viewers {
            let viewer = viewers.address(viewerIndex)
            guard viewer.pointee.isWatching, viewer.pointee.isCounted, !viewer.pointee.isEnding, !viewer.pointee.isAway
            else { continue }
            links.add(
                viewer.pointee.sender.estimate, selection: viewer.pointee.selection,
                requestsVideo: viewer.pointee.sender.video != nil && stream.pointee.layers.exist,
                isKnown: viewer.pointee.quality.isFresh(at: now))
        }
        if let home = stream.pointee.home {
            reportLinks(links, stream: index, to: home)
            swap(&links.estimates, &stream.pointee.quality.links)
            return
        }
        for replica in stream.pointee.replicas { links.add(replica) }
        if stream.pointee.layers.exist, stream.pointee.layers.count == 1, let full {
            stream.pointee.quality.sharedLimit.observe(
                estimates: &links.estimates, viewers: links.count, limited: links.limited, wanted: full, at: now)
        }
        swap(&links.estimates, &stream.pointee.quality.links)
        stream.pointee.quality.noteLimit(at: now)
        stream.pointee.receiver.setBitrateLimit(stream.pointee.quality.request, at: now)
        stream.pointee.quality.isVideoDropped = links.subscribers > 0 && links.blind == links.subscribers
        updateReplicas(of: index, at: now)
    }

    private mutating func lookAtQuality(viewer index: Int, at now: Instant) {
        let viewer = viewers.address(index)
        guard viewer.pointee.isWatching, !viewer.pointee.isEnding else { return }
        let stream = streams.address(viewer.pointee.stream)
        let publisher = stream.pointee.quality.machine
        let sharedLimit = stream.pointee.quality.sharedLimit
        let evidence = viewer.pointee.quality.evidence(
            &viewer.pointee.sender, hasLayers: stream.pointee.layers.count > 1, wanted: stream.pointee.quality.bitrate,
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
}
