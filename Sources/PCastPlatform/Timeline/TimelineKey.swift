import PCastCore
import PCastTimeline

/// The key of a game's timeline, which belongs to an application.
struct TimelineKey: Hashable, Sendable {
    let application: ApplicationID
    let game: TimelineGame
}
