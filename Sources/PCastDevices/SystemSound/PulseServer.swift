import CPulse
import PCastIO
import PCastMedia

/// A connection to a PulseAudio server, or to PipeWire's that speaks like one. Used by one thread at a time.
///
/// The asynchronous interface, and not `pa_simple`: that starts a server where none runs, cannot be told to end while it
/// waits for one that hangs, and knows nothing of another device that becomes the default. Its main loop is turned by the
/// thread that uses it, each time for a while only, so that nothing has to be woken.
final class PulseServer: @unchecked Sendable {
    /// Within which a server answers that is well.
    static let patience = TimeSpan.seconds(2)

    let context: OpaquePointer
    private let loop: OpaquePointer

    /// Connects, and blocks as long as that takes. Starts no server.
    ///
    /// - Parameter address: as in `PULSE_SERVER`; nil for the one that libpulse finds.
    /// - Throws: `.notFound`, `.forbidden`, or `.faulty` when it does not answer.
    init(address: String?) throws(DeviceError) {
        guard address != nil || PulsePlace.mayHaveServer() else {
            throw .notFound("system sound", lookedIn: PulsePlace.description)
        }
        guard let loop = pa_mainloop_new() else { throw .faulty("system sound", reason: "there is no memory for it.") }
        guard let context = pa_context_new(pa_mainloop_get_api(loop), "pcast") else {
            pa_mainloop_free(loop)
            throw .faulty("system sound", reason: "there is no memory for it.")
        }
        (self.loop, self.context) = (loop, context)
        guard pa_context_connect(context, address, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else { throw failure }
        let answered = wait { [PA_CONTEXT_READY, PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED].contains($0.state) }
        guard answered else { throw .faulty("system sound", reason: "the sound server does not answer.") }
        guard state == PA_CONTEXT_READY else { throw failure }
    }

    deinit {
        pa_context_disconnect(context)
        pa_context_unref(context)
        pa_mainloop_free(loop)
    }

    var state: pa_context_state_t { pa_context_get_state(context) }

    /// Why the last call failed, in libpulse's words.
    var reason: String { String(cString: pa_strerror(pa_context_errno(context))) }

    private var failure: DeviceError {
        switch pa_error_code(UInt32(bitPattern: pa_context_errno(context))) {
        case PA_ERR_CONNECTIONREFUSED, PA_ERR_NOENTITY, PA_ERR_CONNECTIONTERMINATED, PA_ERR_INVALIDSERVER:
            .notFound("system sound", lookedIn: PulsePlace.description)
        case PA_ERR_ACCESS, PA_ERR_AUTHKEY: .forbidden("system sound", group: nil)
        default: .faulty("system sound", reason: "the sound server says: \(reason).")
        }
    }

    /// Lets happen what happens within a while; returns as soon as something did.
    ///
    /// - Returns: false when the connection is over.
    @discardableResult
    func turn(within span: TimeSpan) -> Bool {
        let microseconds = Int32(clamping: max(0, span.nanoseconds / 1_000))
        guard pa_mainloop_prepare(loop, microseconds) >= 0, pa_mainloop_poll(loop) >= 0 else { return false }
        return pa_mainloop_dispatch(loop) >= 0 && state == PA_CONTEXT_READY
    }

    /// Waits until something is so, within the server's patience. Answers whether it became so.
    func wait(until isSo: (PulseServer) -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + Self.patience
        while !isSo(self) {
            let rest = deadline - MonotonicClock.now()
            guard rest > .zero else { return false }
            // While it connects, the connection is not over because it is not ready.
            if !turn(within: rest), [PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED].contains(state) { return isSo(self) }
        }
        return true
    }

    /// Asks something whose answer comes in pieces to a callback.
    ///
    /// - Parameter request: begins it, with where the pieces go to.
    /// - Returns: nil when there was no answer, or the server refused.
    func ask<Value>(
        _ request: (OpaquePointer, UnsafeMutableRawPointer, PulseAnswer<Value>.Type) -> OpaquePointer?
    ) -> [Value]? {
        let answer = PulseAnswer<Value>()
        // Released after the operation is over or cancelled: no callback comes any more.
        return withExtendedLifetime(answer) {
            guard let operation = request(context, answer.pointer, PulseAnswer<Value>.self) else { return nil }
            defer { pa_operation_unref(operation) }
            let isOver = wait { _ in pa_operation_get_state(operation) != PA_OPERATION_RUNNING }
            if !isOver { pa_operation_cancel(operation) }
            return isOver && answer.hasEnded ? answer.values : nil
        }
    }
}

/// What a server's callback brings.
final class PulseAnswer<Value> {
    private(set) var values: [Value] = []
    private(set) var hasEnded = false

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func at(_ pointer: UnsafeMutableRawPointer?) -> PulseAnswer<Value> {
        Unmanaged<PulseAnswer<Value>>.fromOpaque(pointer!).takeUnretainedValue()
    }

    func append(_ value: Value) { values.append(value) }

    func end() { hasEnded = true }
}
