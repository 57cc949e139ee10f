import CPulse
import Glibc
import PCastCore
import PCastIO

/// A connection to a PulseAudio-compatible server (PulseAudio or PipeWire). Only one thread may use it at a time.
///
/// It uses the asynchronous interface and not `pa_simple`. The latter starts a server if none runs, cannot be
/// interrupted while a server hangs, and does not report changes of the default device. The calling thread runs the
/// main loop for limited times, so that no wake-up is needed.
final class PulseServer: @unchecked Sendable {
    /// The timeout for responses of the server.
    static let timeout = TimeSpan.seconds(2)

    let context: OpaquePointer
    private let loop: OpaquePointer

    /// Connects to a server and blocks until it has answered. It does not start a server. The address is that of
    /// `PULSE_SERVER`; nil for the one that libpulse finds. Throws `DeviceError`: `.notFound`, `.forbidden`, or
    /// `.faulty` if it does not answer.
    init(address: String?) throws(DeviceError) {
        guard address != nil || PulseServerProbe.mayHaveServer() else {
            throw .notFound("system audio", lookedIn: PulseServerProbe.description)
        }
        guard let loop = pa_mainloop_new() else { throw .faulty("system audio", reason: "out of memory.") }
        guard let context = pa_context_new(pa_mainloop_get_api(loop), "pcast") else {
            pa_mainloop_free(loop)
            throw .faulty("system audio", reason: "out of memory.")
        }
        (self.loop, self.context) = (loop, context)
        guard pa_context_connect(context, address, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else { throw failure }
        let answered = wait { [PA_CONTEXT_READY, PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED].contains($0.state) }
        guard answered else { throw .faulty("system audio", reason: "the audio server does not respond.") }
        guard state == PA_CONTEXT_READY else { throw failure }
    }

    deinit {
        pa_context_disconnect(context)
        pa_context_unref(context)
        pa_mainloop_free(loop)
    }

    var state: pa_context_state_t { pa_context_get_state(context) }

    /// libpulse's description of the last error.
    var reason: String { String(cString: pa_strerror(pa_context_errno(context))) }

    private var failure: DeviceError {
        switch pa_error_code(UInt32(bitPattern: pa_context_errno(context))) {
        case PA_ERR_CONNECTIONREFUSED, PA_ERR_NOENTITY, PA_ERR_CONNECTIONTERMINATED, PA_ERR_INVALIDSERVER:
            .notFound("system audio", lookedIn: PulseServerProbe.description)
        case PA_ERR_ACCESS, PA_ERR_AUTHKEY: .forbidden("system audio", group: nil)
        default: .faulty("system audio", reason: "the audio server reports: \(reason).")
        }
    }

    /// Runs the main loop until an event was processed or the time is over. Returns false if the connection is closed.
    @discardableResult
    func iterate(within span: TimeSpan) -> Bool {
        let microseconds = Int32(clamping: max(0, span.nanoseconds / 1_000))
        guard pa_mainloop_prepare(loop, microseconds) >= 0, pa_mainloop_poll(loop) >= 0 else { return false }
        return pa_mainloop_dispatch(loop) >= 0 && state == PA_CONTEXT_READY
    }

    /// Waits for a condition until the server's timeout. Returns whether it was satisfied.
    func wait(until condition: (PulseServer) -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + Self.timeout
        while !condition(self) {
            let rest = deadline - MonotonicClock.now()
            guard rest > .zero else { return false }
            // A connection that is not ready yet is not closed.
            if !iterate(within: rest), [PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED].contains(state) {
                return condition(self)
            }
        }
        return true
    }

    /// Sends a request whose response comes in pieces to a callback. `request` starts it with the receiver of the
    /// pieces. Returns nil if there was no response or the server refused it.
    func ask<Value>(
        _ request: (OpaquePointer, UnsafeMutableRawPointer, PulseReply<Value>.Type) -> OpaquePointer?
    ) -> [Value]? {
        let answer = PulseReply<Value>()
        // It is released after the operation has ended or was cancelled, so that no callback follows.
        return withExtendedLifetime(answer) {
            guard let operation = request(context, answer.pointer, PulseReply<Value>.self) else { return nil }
            defer { pa_operation_unref(operation) }
            let isOver = wait { _ in pa_operation_get_state(operation) != PA_OPERATION_RUNNING }
            if !isOver { pa_operation_cancel(operation) }
            return isOver && answer.hasEnded ? answer.values : nil
        }
    }
}

/// The response to a request, which callbacks collect.
final class PulseReply<Value> {
    private(set) var values: [Value] = []
    private(set) var hasEnded = false

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func at(_ pointer: UnsafeMutableRawPointer?) -> PulseReply<Value> {
        Unmanaged<PulseReply<Value>>.fromOpaque(pointer!).takeUnretainedValue()
    }

    func append(_ value: Value) { values.append(value) }

    func end() { hasEnded = true }
}

/// Determines whether a PulseAudio-compatible server (PulseAudio or PipeWire) may exist without calling libpulse,
/// because libpulse creates folders in the user's home when it searches for a server.
enum PulseServerProbe {
    /// The searched locations, for display.
    static let description = "the audio servers (PULSE_SERVER, or pulse/native in XDG_RUNTIME_DIR)"

    /// Returns whether a server may exist. `environment` returns a variable, `exists` whether a file exists, and `text`
    /// the content of a small file.
    static func mayHaveServer(
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } },
        exists: (String) -> Bool = { access($0, F_OK) == 0 }, text: (String) -> String? = SystemAttribute.read
    ) -> Bool {
        func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if variable("PULSE_SERVER") != nil { return true }
        // The order is that of libpulse's own search.
        var sockets = ["/var/run/pulse/native"]
        if let folder = variable("PULSE_RUNTIME_PATH") { sockets.append("\(folder)/native") }
        if let folder = variable("XDG_RUNTIME_DIR") { sockets.append("\(folder)/pulse/native") }
        if let home = variable("HOME"), let machine = text("/etc/machine-id") ?? text("/var/lib/dbus/machine-id") {
            sockets += ["\(home)/.pulse", "\(home)/.config/pulse"].map { "\($0)/\(machine)-runtime/native" }
        }
        if sockets.contains(where: exists) { return true }
        var files = ["/etc/pulse/client.conf"]
        if let file = variable("PULSE_CLIENTCONFIG") { files.append(file) }
        if let home = variable("HOME") { files += ["\(home)/.pulse/client.conf", "\(home)/.config/pulse/client.conf"] }
        return files.contains { namesServer(text($0) ?? "") }
    }

    /// Returns whether a client configuration contains `default-server = …`.
    private static func namesServer(_ configuration: String) -> Bool {
        configuration.split(separator: "\n").contains { line in
            let parts = line.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
            return parts.count == 2 && parts[0] == "default-server" && !parts[1].isEmpty
        }
    }
}
