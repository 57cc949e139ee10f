import PCastCore
import Synchronization
import Testing

@testable import PCast

/// The updates of declared streams that the SDK makes of the bytes of a platform.
@Suite("Updates of declared streams")
struct NamedStreamFeedTests {
    /// An application that has space for a number of updates.
    private final class Application: Sendable {
        private let state = Mutex((updates: [NamedStreamUpdate](), space: Int.max))

        var space: Int {
            get { state.withLock { $0.space } }
            set { state.withLock { $0.space = newValue } }
        }

        func deliver(_ update: NamedStreamUpdate) -> Bool {
            state.withLock { state in
                guard state.updates.count < state.space else { return false }
                state.updates.append(update)
                return true
            }
        }

        /// Returns the updates since the last call.
        func take() -> [NamedStreamUpdate] {
            state.withLock { state in
                defer { state.updates = [] }
                return state.updates
            }
        }
    }

    private func text(_ number: Int, _ kind: String = "ready", _ fields: String = "") -> [UInt8] {
        Array(
            """
            id: log-\(number)
            event: \(kind)
            data: {"name":"\(number)"\(fields),"timestamp":"2026-09-21T14:13:20.125Z"}


            """.utf8)
    }

    private func names(_ updates: [NamedStreamUpdate]) -> [String] {
        updates.map { update in
            switch update {
            case .online: "online"
            case .offline: "offline"
            case .missed: "missed"
            case .event(let event): event.name
            }
        }
    }

    @Test("an event has the properties that the platform sends, and unknown events are ignored")
    func properties() {
        let application = Application()
        let feed = NamedStreamFeed { application.deliver($0) }
        #expect(feed.receive(Array("retry: 1000\nid: log-0\n\n".utf8)))
        #expect(feed.lastID == "log-0")
        #expect(feed.receive(text(1, "switched", #","streamId":"s","publisherId":"p","reason":"silent""#)))
        #expect(feed.receive(text(2, "later")))
        #expect(feed.receive(Array("event: ready\ndata: {\n\n".utf8)))
        #expect(feed.receive(text(3, "demanded")))
        let time = WallTime(millisecondsSinceEpoch: 1_790_000_000_125)
        let expected: [NamedStreamUpdate] = [
            .online,
            .event(
                NamedStreamNotification(
                    kind: .switched, name: "1", streamID: StreamID("s"), publisherID: StreamID("p"), reason: "silent",
                    time: time)),
            .event(
                NamedStreamNotification(
                    kind: .demanded, name: "3", streamID: nil, publisherID: nil, reason: nil, time: time)),
        ]
        #expect(application.take() == expected)
    }

    @Test("a lost connection is reported once, and the next one continues after the last event")
    func connections() {
        let application = Application()
        let feed = NamedStreamFeed { application.deliver($0) }
        let first = feed.disconnected()
        #expect(!first)
        #expect(feed.receive(text(1)))
        // The connection is lost in the middle of an event.
        #expect(feed.receive(Array(text(2).prefix(20))))
        let second = feed.disconnected()
        #expect(second)
        #expect(feed.lastID == "log-1")
        #expect(feed.receive(text(2)))
        #expect(names(application.take()) == ["online", "1", "offline", "online", "2"])
        #expect(feed.lastID == "log-2")
    }

    @Test("later updates are dropped while the application does not read, and it receives that they are missing")
    func slowApplication() {
        let application = Application()
        let feed = NamedStreamFeed { application.deliver($0) }
        application.space = 3
        for number in 1...5 { #expect(feed.receive(text(number))) }
        #expect(names(application.take()) == ["online", "1", "2"])
        #expect(feed.receive(Array(":\n\n".utf8)))
        #expect(feed.receive(text(6)))
        #expect(names(application.take()) == ["missed", "6"])
    }

    @Test("what the platform has lost is missing, and an event that is too large ends the connection")
    func gaps() {
        let application = Application()
        let feed = NamedStreamFeed { application.deliver($0) }
        #expect(feed.receive(Array("id: log-9\nevent: missed\ndata: {}\n\n".utf8)))
        #expect(names(application.take()) == ["online", "missed"])
        let accepted = feed.receive([UInt8](repeating: UInt8(ascii: "a"), count: 100_000))
        #expect(!accepted)
    }
}
