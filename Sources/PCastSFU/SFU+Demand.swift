import PCastCore
import PCastRTP
import PCastWebRTC

/// The demand for the tracks of a stream. A publisher that supports RFC 7728 pauses tracks without subscribers; see
/// `PauseRequest`.
extension SFU {
    /// Subscribes a viewer to tracks from its answer on, before it can be reached. A paused publisher resumes during
    /// the viewer's handshake, so that joining takes at most one more round trip to the publisher.
    mutating func beginSubscription(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addSubscribers(1, of: .audio, stream: stream, at: now) }
        guard viewers[index].sender.video != nil else { return }
        viewers[index].selection.begin(streams[stream].ladder)
        selectLayer(viewer: index, at: now)
    }

    /// Ends a viewer's subscription to all tracks.
    mutating func endSubscription(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addSubscribers(-1, of: .audio, stream: stream, at: now) }
        take(layers: 0, viewer: index, at: now)
    }

    /// Updates the layers that a viewer receives or waits for, given as bits.
    mutating func take(layers mask: UInt8, viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        let before = viewers[index].subscribedLayers
        guard mask != before else { return }
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

    /// Changes the number of subscribers of a track, and pauses or resumes the track at its publisher or home shard.
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
        if let home = streams[index].home {
            return shardLinks.give(
                .subscribers(streams[index].peer, streams.address(index).pointee.subscribers), to: home)
        }
        streams[index].receiver.setDemanded(type, layer: layer, subscribers > 0, at: now)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

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
}
