import Dispatch
import Synchronization

/// A queue that calls the observers of a player: one call at a time, in order, on its own thread. A slow observer
/// delays the other observers of the same player, but not the player.
///
/// If several positions wait, only the newest is kept, because no other event is as frequent.
final class EventDispatcher: Sendable {
    /// An event with its receivers.
    private struct PendingEvent: Sendable {
        var event: PlayerEvent
        var subscriptions: [EventSubscription]
    }

    private struct State {
        var letters: [PendingEvent] = []
        var isDelivering = false
    }

    private let queue = DispatchQueue(label: "pcast.player.events")
    private let state = Mutex(State())

    /// Adds an event for subscriptions.
    func post(_ event: PlayerEvent, to subscriptions: [EventSubscription]) {
        guard !subscriptions.isEmpty else { return }
        let isIdle = state.withLock { state in
            let letter = PendingEvent(event: event, subscriptions: subscriptions)
            if event.isReplaceable, let last = state.letters.last, last.event.isReplaceable,
                last.event.session == event.session, last.subscriptions.count == subscriptions.count
            {
                state.letters[state.letters.count - 1] = letter
            } else {
                state.letters.append(letter)
            }
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        if isIdle { queue.async { self.deliver() } }
    }

    /// Delivers events until there are none.
    private func deliver() {
        while true {
            let letters = state.withLock { state in
                defer { state.letters = [] }
                if state.letters.isEmpty { state.isDelivering = false }
                return state.letters
            }
            if letters.isEmpty { return }
            for letter in letters {
                for subscription in letter.subscriptions { subscription.deliver(letter.event) }
            }
        }
    }

    /// Calls `body` after all earlier events were delivered.
    func whenDelivered(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
