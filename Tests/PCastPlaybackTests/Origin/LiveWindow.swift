import Foundation

/// The progress of a live presentation, which the test controls: the available segments, and the number of parts of the
/// next one.
final class LiveWindow: @unchecked Sendable {  // the state is reached under the condition only
    struct State: Sendable {
        var numbers: Range<Int>
        var parts = 0
        var isOver = false
    }

    private var state: State
    private let condition = NSCondition()

    init(_ numbers: Range<Int>, parts: Int = 0) { state = State(numbers: numbers, parts: parts) }

    var current: State { condition.withLock { state } }

    func change(_ body: (inout State) -> Void) {
        condition.withLock {
            body(&state)
            condition.broadcast()
        }
    }

    /// Waits on a server thread until a condition holds or the test is over.
    func wait(until holds: (State) -> Bool) {
        condition.withLock {
            while !holds(state), !state.isOver { condition.wait() }
        }
    }
}
