import PCastCore

/// Tells a timeline where its player is: by each picture that was shown, in their order.
final class TimelineFollower: PlayerEventListener {
    private weak let timeline: GameTimeline?

    init(_ timeline: GameTimeline) { self.timeline = timeline }

    func hear(_ event: PlayerEvent) {
        guard let timeline, let session = event.session else { return }
        switch event.kind {
        case .videoChanged: timeline.advanced(to: session, in: event.epoch)
        // At the picture itself: before it goes on from there some time may pass.
        case .arrived(let position), .progressed(.at(let position)):
            timeline.shown(position, of: session, in: event.epoch)
        // What tells the time may have come with it.
        case .seekableRangesChanged: timeline.learned(of: session)
        case .lifecycle(.terminate): timeline.ended(session)
        default: break
        }
    }
}
