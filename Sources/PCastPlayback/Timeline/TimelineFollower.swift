import PCastMedia

/// Tells a timeline where its player is: by each picture that was shown, in their order.
final class TimelineFollower: PlaybackSessionConsumer {
    private weak let timeline: GameTimeline?

    init(_ timeline: GameTimeline) { self.timeline = timeline }

    func didAdvance(to session: PlaybackSession) { timeline?.advanced(to: session) }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        if case .at(let position) = progress { timeline?.shown(position, of: session) }
    }

    /// What tells the time may have come with it.
    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<TimeSpan>]) {
        timeline?.learned(of: session)
    }

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        if lifecycleEvent == .terminate { timeline?.ended(session) }
    }
}
