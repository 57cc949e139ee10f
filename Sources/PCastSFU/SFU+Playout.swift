import PCastCore
import PCastRTP
import PCastWebRTC

/// How long viewers are asked to hold pictures.
extension SFU {
    /// WebRTC's playout-delay header extension: the same at least and at most where all show the same, which a browser takes
    /// for a buffer of that length; nothing at all where the way is calm (JB5).
    func playoutDelay(stream index: Int, least: TimeSpan, isLowJitter: Bool) -> PlayoutDelay {
        if let together = streams[index].playout { return PlayoutDelay(minimum: together, maximum: together) }
        if isLowJitter, least == .zero { return PlayoutDelay(minimum: .zero, maximum: .zero) }
        return PlayoutDelay(minimum: least, maximum: max(least, .seconds(10)))
    }

    /// Asks a viewer to hold pictures for as long as what its hop and the publisher's lose takes to be repaired.
    mutating func followLosses(viewer place: Int, at now: Instant) {
        let viewer = viewers.address(place)
        guard viewer.pointee.isWatching else { return }
        let stream = streams.address(viewer.pointee.stream)
        let estimate = viewer.pointee.sender.estimate
        if viewer.pointee.quality.isSettled(at: now) {
            // What a full link loses is lost because it is full.
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
