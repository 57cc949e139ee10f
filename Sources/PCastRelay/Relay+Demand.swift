import PCastMedia
import PCastRTP
import PCastWebRTC

/// What of a stream anybody takes. A publisher that can (RFC 7728) rests while nobody does; see `PauseRequest`.
extension Relay {
    /// A viewer takes tracks from its answer on, before it can be reached: the publisher wakes up while the viewer shakes
    /// hands, and no join is longer by it than a round trip to the publisher.
    mutating func beginTaking(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addTakers(1, of: .audio, stream: stream, at: now) }
        guard viewers[index].sender.video != nil else { return }
        addTakers(1, of: .video, stream: stream, at: now)
        guard streams[stream].receiver.isResting(.video) else { return }
        // Nobody is shown what comes from before the pause.
        streams[stream].video.log.forgetKeyFrame()
        requestKeyFrame(stream: stream)
    }

    /// It does not any more.
    mutating func endTaking(viewer index: Int, at now: Instant) {
        let stream = viewers[index].stream
        if viewers[index].sender.audio != nil { addTakers(-1, of: .audio, stream: stream, at: now) }
        if viewers[index].sender.video != nil { addTakers(-1, of: .video, stream: stream, at: now) }
    }

    private mutating func addTakers(_ count: Int, of type: MediaType, stream index: Int, at now: Instant) {
        guard !streams[index].isEnding else { return }
        if type == .video { streams[index].video.takers += count } else { streams[index].audio.takers += count }
        let takers = type == .video ? streams[index].video.takers : streams[index].audio.takers
        streams[index].receiver.setWanted(type, takers > 0, at: now)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }
}
