import PCastCore
import PCastRTP
import PCastWebRTC

/// What of a stream anybody takes. A publisher that can (RFC 7728) rests while nobody does; see `PauseRequest`.
extension SFU {
    /// A viewer takes tracks from its answer on, before it can be reached: the publisher wakes up while the viewer shakes
    /// hands, and no join is longer by it than a round trip to the publisher.
    mutating func beginTaking(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addTakers(1, of: .audio, stream: stream, at: now) }
        guard viewers[index].sender.video != nil else { return }
        viewers[index].selection.begin(streams[stream].ladder)
        selectLayer(viewer: index, at: now)
    }

    /// It does not any more.
    mutating func endTaking(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addTakers(-1, of: .audio, stream: stream, at: now) }
        take(layers: 0, viewer: index, at: now)
    }

    /// Follows which layers a viewer is sent or waits for.
    ///
    /// - Parameter taken: as bits.
    mutating func take(layers taken: UInt8, viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        let before = viewers[index].takenLayers
        guard taken != before else { return }
        viewers[index].takenLayers = taken
        for layer in streams[stream].layers.indices {
            let bit: UInt8 = 1 << UInt8(layer)
            if taken & bit != 0, before & bit == 0 {
                addTakers(1, of: .video, layer: layer, stream: stream, at: now)
                guard streams[stream].receiver.isResting(.video, layer: layer) else { continue }
                // Nobody is shown what comes from before the pause.
                streams[stream].layers[layer].forgetKeyFrame()
                requestKeyFrame(stream: stream, layer: layer)
            } else if taken & bit == 0, before & bit != 0 {
                addTakers(-1, of: .video, layer: layer, stream: stream, at: now)
            }
        }
    }

    mutating func addTakers(
        _ count: Int, of type: MediaType, layer: Int = 0, stream index: Int, at now: Instant
    ) {
        guard !streams[index].isEnding else { return }
        if type == .video { streams[index].layers[layer].takers += count } else { streams[index].audio.takers += count }
        // Until now it may have had nothing to send.
        if count > 0 { streams[index].deadlines.noteData(at: now) }
        let takers = type == .video ? streams[index].layers[layer].takers : streams[index].audio.takers
        if let home = streams[index].home {
            return shardLinks.give(.takers(streams[index].peer, streams.address(index).pointee.takers), to: home)
        }
        streams[index].receiver.setWanted(type, layer: layer, takers > 0, at: now)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

    /// Whether a publisher has had its time to connect, or to bring data. One that rests because nobody takes anything has
    /// none to bring.
    mutating func isOverdue(publisher index: Int, at now: Instant) -> Bool {
        if let lastNews = streams[index].lastNews { return now - lastNews > Self.replicaPatience }
        guard streams[index].deadlines.hasPassed(at: now) else { return false }
        guard streams[index].isConnected, !isAnythingDue(of: index) else { return true }
        streams[index].deadlines.noteData(at: now)
        return false
    }

    /// Whether anything of a stream has reason to come: it is wanted, or has not been asked to rest yet, which nothing is
    /// before its first packet.
    private func isAnythingDue(of index: Int) -> Bool {
        let stream = streams.address(index)
        func isDue(_ track: InboundTrack) -> Bool { track.pause.map { $0.isWanted || !$0.isResting } ?? true }
        return stream.pointee.receiver.audio.map(isDue) ?? false
            || stream.pointee.receiver.layers.contains(where: isDue)
    }
}
