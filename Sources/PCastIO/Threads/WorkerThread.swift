import CLinux
import Glibc

/// A named thread for work that blocks: capture, encoding, decoding, an event loop.
///
/// Swift's own threads must not block, so whatever waits for a device, a codec or a socket has one of these.
public final class WorkerThread: Sendable {
    private let thread: pthread_t
    private let isOver = Monitor(false)

    /// Starts `body` on a new thread. `name` is what `top -H` shows; Linux keeps its first 15 bytes.
    ///
    /// - Parameter precedence: how it stands beside other programs; where the system does not allow that, it is ordinary.
    public init(
        name: String, precedence: ThreadPrecedence = .ordinary, _ body: @escaping @Sendable () -> Void
    ) throws(IOError) {
        let start = Unmanaged.passRetained(Start(precedence, body))
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { argument in
                let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                start.precedence.request()
                start.body()
                return nil
            }, start.toOpaque())
        guard error == 0 else {
            start.release()
            throw .system(call: "pthread_create", errno: error)
        }
        self.thread = thread
        _ = clinux_name_thread(thread, Self.shortened(name))
    }

    deinit {
        if !isOver.withLock({ isOver, _ in isOver }) { pthread_detach(thread) }
    }

    /// Waits until the body has returned. Harmless when called again; on the thread itself it does not wait, as that
    /// would be for ever.
    public func join() {
        if isCurrent { return }
        isOver.withLock { isOver, _ in
            if !isOver { pthread_join(thread, nil) }
            isOver = true
        }
    }

    /// Whether the caller runs on this thread.
    public var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    private static func shortened(_ name: String) -> String {
        var name = name
        while name.utf8.count > 15 { name.removeLast() }
        return name
    }

    private final class Start {
        let precedence: ThreadPrecedence
        let body: @Sendable () -> Void

        init(_ precedence: ThreadPrecedence, _ body: @escaping @Sendable () -> Void) {
            (self.precedence, self.body) = (precedence, body)
        }
    }
}
