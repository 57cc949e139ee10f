import PCastCore

/// Reports the position of a player to a timeline: each displayed frame, in order.
final class TimelineFollower: PlayerEventListener {
    private weak let timeline: GameTimeline?

    /// Creates a follower.
    init(_ timeline: GameTimeline) { self.timeline = timeline }

    /// Handles an event of the player.
    func handle(_ event: PlayerEvent) {
        guard let timeline, let session = event.session else { return }
        switch event.kind {
        case .videoChanged: timeline.advanced(to: session, in: event.epoch)
        // The frame itself counts, because playback may advance from it only after some time.
        case .arrived(let position), .progressed(.at(let position)):
            timeline.shown(position, of: session, in: event.epoch)
        // Anchors of wall-clock time may have arrived with the ranges.
        case .seekableRangesChanged: timeline.updateClock(of: session)
        case .lifecycle(.terminate): timeline.ended(session)
        default: break
        }
    }
}
