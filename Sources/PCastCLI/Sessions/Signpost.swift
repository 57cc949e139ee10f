import Synchronization

/// Is raised once, by whom it may concern.
final class Signpost: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
