import PCast
import PCastJSON
import Synchronization

/// Reports the events of a session, and ends the run if the platform rejects the session.
struct SessionReport: Sendable {
    let console: Console
    let end: RunEnd
    let link: LinkState

    /// Reports events until the session has ended.
    func follow(_ events: AsyncStream<PCastEvent>) async {
        for await event in events {
            switch event {
            case .authenticated(.ok, let session):
                console.event("authenticated", ["sessionId": .text(session?.description)])
            case .authenticated(let status, _) where link.current != .connecting:
                end.end(.session(status))
            case .authenticated: break  // The caller that starts the session reports it.
            case .online:
                if link.current == .offline { console.inform("Reconnected to the platform.") }
                link.current = .online
                console.event("online")
            case .offline where end.cause == nil:
                link.current = .offline
                console.event("offline")
                console.warn("The connection to the platform was lost. Reconnecting.")
            case .offline: break  // An embedded platform that stops closes the connection too.
            }
        }
    }
}

/// The state of the connection to the platform, for the status block.
final class LinkState: Sendable {
    enum Value: String { case connecting, online, offline }

    private let value = Mutex(Value.connecting)

    var current: Value {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
