import PCastCore
import PCastRTP
import PCastWebRTC

/// The time for which viewers are asked to hold frames.
extension SFU {
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
