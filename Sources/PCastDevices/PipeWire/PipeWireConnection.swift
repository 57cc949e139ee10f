import CPipeWire
import Glibc
import PCastIO

/// A connection to a PipeWire server, with a thread of libpipewire. libpipewire is loaded at run time.
///
/// Its owner uses it from one thread, and from the library's thread in callbacks.
final class PipeWireConnection: @unchecked Sendable {
    let calls: cpw_library
    /// The library's `pw_core`.
    let core: UnsafeMutableRawPointer
    /// The name of the device in errors.
    let name: String
    private let loop: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    private var isClosed = false

    /// Connects to a server. The library's thread begins with `start`.
    ///
    /// - Parameters:
    ///   - name: The name of the device in errors.
    ///   - descriptor: A descriptor that is connected to a server, which is taken over; nil for the user's own server.
    /// - Throws: `DeviceError.faulty` if libpipewire is not installed or there is no connection.
    init(_ name: String, descriptor: Int32? = nil) throws(DeviceError) {
        func release() { if let descriptor { Glibc.close(descriptor) } }
        self.name = name
        guard let calls = PipeWireLibrary.shared?.calls else {
            release()
            throw .faulty(name, reason: "libpipewire-0.3.so.0 is missing: install libpipewire-0.3-0.")
        }
        guard let loop = calls.thread_loop_new("pcast-pipewire", nil) else {
            release()
            throw .faulty(name, reason: "PipeWire's thread could not be created.")
        }
        guard let context = calls.context_new(calls.thread_loop_get_loop(loop), nil, 0) else {
            release()
            calls.thread_loop_destroy(loop)
            throw .faulty(name, reason: "libpipewire finds no modules: install libpipewire-0.3-modules.")
        }
        // The core closes the descriptor, also if the connection fails.
        let core =
            if let descriptor {
                calls.context_connect_fd(context, descriptor, nil, 0)
            } else {
                calls.context_connect(context, nil, 0)
            }
        guard let core else {
            calls.context_destroy(context)
            calls.thread_loop_destroy(loop)
            throw .faulty(name, reason: "there is no connection to the PipeWire server.")
        }
        (self.calls, self.loop, self.context, self.core) = (calls, loop, context, core)
    }

    deinit { close() }

    /// Starts the library's thread. Returns whether it runs.
    func start() -> Bool { calls.thread_loop_start(loop) >= 0 }

    /// Uses the library while its thread waits. It must not be called on that thread's callbacks, nor after `close`.
    func locked<Result>(_ body: () -> Result) -> Result {
        calls.thread_loop_lock(loop)
        defer { calls.thread_loop_unlock(loop) }
        return body()
    }

    /// Stops the library's thread, and waits for it. After that, objects of the connection can be destroyed.
    func stop() { if !isClosed { calls.thread_loop_stop(loop) } }

    /// Closes the connection.
    func close() {
        guard !isClosed else { return }
        stop()
        isClosed = true
        _ = calls.core_disconnect(core)
        calls.context_destroy(context)
        calls.thread_loop_destroy(loop)
    }
}

/// libpipewire, which is loaded at run time when a screen, a camera or audio is captured, or devices are
/// listed.
private struct PipeWireLibrary: @unchecked Sendable {  // initialized before it is shared
    let calls: cpw_library

    /// The library; nil if it cannot be loaded.
    static let shared: PipeWireLibrary? = {
        var calls = cpw_library()
        var reason: UnsafePointer<CChar>?
        guard cpw_load(&calls, &reason) == 1 else { return nil }
        calls.`init`(nil, nil)
        return PipeWireLibrary(calls: calls)
    }()
}

/// Determines whether a PipeWire server may exist, so that libpipewire is not loaded without one.
enum PipeWireServerProbe {
    /// Returns whether a server may exist. `environment` returns a variable, and `exists` whether a file exists.
    static func mayHaveServer(
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } },
        exists: (String) -> Bool = { access($0, F_OK) == 0 }
    ) -> Bool {
        func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        let socket = variable("PIPEWIRE_REMOTE") ?? "pipewire-0"
        if socket.hasPrefix("/") { return exists(socket) }
        // The folders in which the library searches.
        let folders = ["PIPEWIRE_RUNTIME_DIR", "XDG_RUNTIME_DIR", "USERPROFILE"].compactMap(variable)
        return (folders + ["/run/pipewire"]).contains { exists("\($0)/\(socket)") }
    }
}
