import PCast
import PCastJSON

/// Tells what happens to a session, and ends the run when the platform will not have it back.
struct SessionReport: Sendable {
    let console: Console
    let end: RunEnd
    let link: LinkState

    /// Returns when the session is over.
    func follow(_ events: AsyncStream<PCastEvent>) async {
        for await event in events {
            switch event {
            case .authenticated(.ok, let session):
                console.event("authenticated", ["sessionId": .text(session?.description)])
            case .authenticated(let status, _) where link.current != .connecting:
                end.end(.session(status))
            case .authenticated: break  // Whoever starts the session is told.
            case .online:
                if link.current == .offline { console.say("Connected to the platform again.") }
                link.current = .online
                console.event("online")
            case .offline where end.cause == nil:
                link.current = .offline
                console.event("offline")
                console.say("The connection to the platform broke; connecting again.")
            case .offline: break  // A platform that ends its streams and goes, as one that was started along does.
            }
        }
    }
}
