/// A state machine of the core: it is told events and the time, and does nothing itself.
///
/// The contract with whoever drives it:
/// 1. every call that may change it (`handle`, `advance`, and whatever else a machine offers) is followed by calling
///    `poll` until it answers nil, and acting on what it answered;
/// 2. time never goes backwards from call to call;
/// 3. when `deadline` has come, `advance(to:)` is called; a nil deadline means that it waits for events alone.
///
/// Errors of a peer are outputs; a broken contract traps.
public protocol Machine: ~Copyable {
    associatedtype Input
    associatedtype Output

    mutating func handle(_ input: consuming Input, at now: Instant)
    mutating func advance(to now: Instant)
    mutating func poll() -> Output?
    var deadline: Instant? { mutating get }
}
