import Foundation
import PCastOverlay
import PCastPlayback

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
