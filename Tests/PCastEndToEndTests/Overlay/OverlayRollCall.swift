import Foundation
import PCastOverlay
import PCastPlayback
import Testing

/// Causes messages, and checks how often each observer received them and what a page sent and received.
final class OverlayRollCall {
    let audience: OverlayListeners
    private let overlay: Overlay
    private let browser: Browser
    private let page: String
    private var last = 0
    /// The messages that arrived as expected.
    private(set) var present: Set<OverlayMessage.Name> = []

    init(_ audience: OverlayListeners, of overlay: Overlay, _ browser: Browser, page: String = "main") {
        (self.audience, self.overlay, self.browser, self.page) = (audience, overlay, browser, page)
    }

    /// Performs an action, waits until all its effects have arrived, and expects no others. Times, which arrive during
    /// playback, are not counted.
    ///
    /// `names` are the messages that both kinds of observers receive, each with its number of occurrences. `sent` and
    /// `received` are the page's messages in order. `passing` lists messages that may occur any number of times, such
    /// as transitional states.
    func call(
        _ what: String, hears names: [OverlayMessage.Name], sent: [String] = [], received: [String] = [],
        passing: Set<OverlayMessage.Name> = [], _ cause: () async throws -> Void
    ) async throws {
        let mark = audience.mark
        let before = try await wireCounts()
        try await cause()
        try await audience.wait(for: what, since: mark) { Set($0.map(\.name)).isSuperset(of: names) }
        try await pass()
        for (kind, messages) in audience.heard(since: mark) {
            let heard = messages.filter { !Self.isOurs($0) }.map(\.name)
                .filter { $0 != .playerTime && !passing.contains($0) }
            #expect(heard.map(\.rawValue).sorted() == names.map(\.rawValue).sorted(), "\(what): \(kind)")
            if Set(heard) == Set(names), kind == "classic" { present.formUnion(names) }
        }
        let isPassing = passing.contains(.playerState)
        let after = try await wire(since: before, isPassing)
        #expect(after.sent == sent, "\(what): sent by the page")
        #expect(after.received == received, "\(what): received by the page")
    }

    /// Expects that each message occurred once, whatever else occurred.
    func expectOnce(_ names: [OverlayMessage.Name], since mark: OverlayListeners.Mark) {
        for name in names { expectOnce(name, since: mark) { $0.name == name } }
    }

    func expectOnce(_ message: OverlayMessage, since mark: OverlayListeners.Mark) {
        expectOnce(message.name, since: mark) { $0 == message }
    }

    private func expectOnce(
        _ name: OverlayMessage.Name, since mark: OverlayListeners.Mark, _ matches: (OverlayMessage) -> Bool
    ) {
        for (kind, messages) in audience.heard(since: mark) {
            let count = messages.count(where: matches)
            #expect(count == 1, "\(name): \(kind)")
            if count == 1 { present.insert(name) }
        }
    }

    /// Expects times of frames in their order, none of them twice.
    func expectTimes(since mark: OverlayListeners.Mark) {
        for (kind, messages) in audience.heard(since: mark) {
            let times = messages.filter { $0.name == .playerTime }
            #expect(!times.isEmpty && Set(times).count == times.count, "\(kind)")
            if !times.isEmpty { present.insert(.playerTime) }
        }
    }

    /// Sends a message to the page and back, after which all earlier messages and their effects have arrived.
    private func pass() async throws {
        last += 1
        let (mark, number) = (audience.mark, last)
        overlay.post(.appMessage(#"{"event":"roll.call","metadata":{"number":\#(number)}}"#))
        try await browser.wait(
            for: "wire.received.some((m) => m.event === 'roll.call' && m.metadata.number === \(number))", at: page)
        try await browser.evaluate(
            "WebViewBridge.send(JSON.stringify({ event: 'roll.answer', metadata: { number: \(number) } }))", at: page)
        try await audience.wait(for: "the page's answer", since: mark) { messages in
            messages.contains { $0.name == .bridgeMessage && Self.isOurs($0) }
        }
        await overlay.settled()
    }

    private static func isOurs(_ message: OverlayMessage) -> Bool {
        switch message {
        case .appMessage(let text), .bridgeMessage(let text): text.contains("roll.")
        default: false
        }
    }

    private func wireCounts() async throws -> (sent: Int, received: Int) {
        let counts = try await browser.evaluate(
            "typeof wire === 'undefined' ? [0, 0] : [wire.sent.length, wire.received.length]", at: page)
        return (Int(counts[0].number ?? 0), Int(counts[1].number ?? 0))
    }

    private func wire(
        since counts: (sent: Int, received: Int), _ isPassing: Bool
    ) async throws -> (sent: [String], received: [String]) {
        let ours = "['app.keepalive', 'bridge.keepalive', 'roll.call', 'roll.answer']"
        let more = isPassing ? "['player.time', 'player.state']" : "['player.time']"
        let answer = try await browser.evaluate(
            """
            [wire.sent.slice(\(counts.sent)).map((m) => m.event).filter((e) => !\(ours).includes(e)),
             wire.received.slice(\(counts.received)).map((m) => m.event)
               .filter((e) => !\(ours).includes(e) && !\(more).includes(e))]
            """, at: page)
        return (answer[0].list.compactMap(\.text), answer[1].list.compactMap(\.text))
    }
}

/// All observers of the overlays of a notification center, as in an application: one for each of the 26 names, and one
/// by types.
final class OverlayListeners: Sendable {
    /// The number of messages that each kind of observer has received.
    struct Mark: Sendable {
        var classic: Int
        var typed: Int
    }

    let center = NotificationCenter()
    let classic = Awaited<OverlayMessage>()
    let typed = Awaited<OverlayMessage>()
    private let observers: Observers
    private let listening: Task<Void, Never>

    /// Registered observers, which are not accessed until they are removed.
    private struct Observers: @unchecked Sendable { var tokens: [any NSObjectProtocol] }

    init() async {
        let (board, classic, typed) = (center, classic, typed)
        observers = Observers(
            tokens: OverlayMessage.Name.allCases.map { name in
                board.addObserver(forName: Notification.Name(name.rawValue), object: nil, queue: nil) { notification in
                    // The notification is read as an application does.
                    if let message = OverlayMessage(notification) { classic.add(message) }
                }
            })
        let posts = center.messages(for: OverlayNotification.self, bufferSize: 4_096)
        let begun = Awaited<Bool>()
        listening = Task {
            var iterator = posts.makeAsyncIterator()
            begun.add(true)
            while let notification = await iterator.next(isolation: nil) { typed.add(notification.message) }
        }
        _ = await begun.first()
    }

    var mark: Mark { Mark(classic: classic.values.count, typed: typed.values.count) }

    /// Returns the messages that each kind of observer received since a mark.
    func heard(since mark: Mark) -> [(kind: String, messages: [OverlayMessage])] {
        [
            ("classic", Array(classic.values.dropFirst(mark.classic))),
            ("typed", Array(typed.values.dropFirst(mark.typed))),
        ]
    }

    /// Waits until both kinds of observers have received matching messages since a mark.
    func wait(
        for what: String, since mark: Mark, _ holds: @escaping @Sendable ([OverlayMessage]) -> Bool
    ) async throws {
        for (heard, count) in [(classic, mark.classic), (typed, mark.typed)] {
            let found = await heard.first { _ in holds(Array(heard.values.dropFirst(count))) }
            guard found == nil else { continue }
            throw EndToEndFailure("\(what) was not heard; \(heard.values.dropFirst(count).map(\.name.rawValue))")
        }
    }

    func close() async {
        for token in observers.tokens { center.removeObserver(token) }
        listening.cancel()
        await listening.value
    }
}
