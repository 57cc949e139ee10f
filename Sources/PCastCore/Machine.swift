/// A state machine of the core. It receives events and the time, and performs no I/O itself.
///
/// The driver of a machine must observe these rules:
/// 1. After each call that may change the machine (`handle`, `advance` and others), it calls `poll` until that returns
///    nil, and performs each output.
/// 2. Time never goes backwards from call to call.
/// 3. When `deadline` is reached, it calls `advance(to:)`. If `deadline` is nil, the machine waits for events only.
///
/// Errors of a peer are outputs. A broken rule traps.
public protocol Machine: ~Copyable {
    associatedtype Input
    associatedtype Output

    mutating func handle(_ input: consuming Input, at now: Instant)
    mutating func advance(to now: Instant)
    mutating func poll() -> Output?
    var deadline: Instant? { mutating get }
}
