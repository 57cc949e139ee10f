import Dispatch
import Synchronization

/// Calls whoever follows a player: one call at a time, in order, on a thread of its own. Who is slow in being told holds up
/// those who are told of the same player, and not the player.
///
/// Of positions that wait the newest counts; nothing else comes as often as that.
final class EventOutbox: Sendable {
    private struct Letter: Sendable {
        var event: PlayerEvent
        var subscriptions: [EventSubscription]
    }

    private struct State {
        var letters: [Letter] = []
        var isDelivering = false
    }

    private let queue = DispatchQueue(label: "pcast.player.events")
    private let state = Mutex(State())

    func post(_ event: PlayerEvent, to subscriptions: [EventSubscription]) {
        guard !subscriptions.isEmpty else { return }
        let isIdle = state.withLock { state in
            let letter = Letter(event: event, subscriptions: subscriptions)
            if event.isFleeting, let last = state.letters.last, last.event.isFleeting,
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

    /// Calls back when all that was posted before has been told.
    func whenDelivered(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
