import Glibc
import PCastCore
import Synchronization

/// Reads the messages of all programs on one thread, so that hundreds of programs need no thread that wakes for each message.
///
/// While messages are few, each one wakes the thread. While they are many, it reads them at intervals
/// (``WakeCoalescing``).
final class MessageReader: Sendable {
    /// A socket and the functions that are called on the reader's thread. They return without blocking.
    private struct Source: Sendable {
        let socket: MessageSocket
        let onMessage: @Sendable ([UInt8]) -> Void
        let onEnd: @Sendable () -> Void
    }

    private struct Sources: Sendable {
        var open: [UInt32: Source] = [:]
        var next: UInt32 = 0
    }

    /// The maximum number of messages that are read from a socket before the next socket.
    private static let maximumRun = 32

    private static let current = Mutex<MessageReader?>(nil)

    private let poller: MessagePoller
    private let sources = Mutex(Sources())

    /// Returns the reader of this process, whose thread is created when it is needed first.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if no descriptor or thread can be created.
    static func shared() throws(IOError) -> MessageReader {
        let result: Result<MessageReader, IOError> = current.withLock { current in
            if let current { return .success(current) }
            do throws(IOError) {
                let reader = try MessageReader()
                _ = try WorkerThread(name: "messages") { reader.run() }
                current = reader
                return .success(reader)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init() throws(IOError) { poller = try MessagePoller() }

    /// Reads a socket until its connection ends.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - onMessage: Called with each message.
    ///   - onEnd: Called once, after the last message.
    /// - Throws: ``IOError/system(call:errno:)`` if the kernel's limit of watches is reached.
    func read(
        _ socket: MessageSocket, onMessage: @escaping @Sendable ([UInt8]) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) throws(IOError) {
        let number = sources.withLock { sources in
            repeat { sources.next &+= 1 } while sources.open[sources.next] != nil
            sources.open[sources.next] = Source(socket: socket, onMessage: onMessage, onEnd: onEnd)
            return sources.next
        }
        do throws(IOError) {
            try poller.poller.add(socket.number, as: .connection(number))
        } catch {
            sources.withLock { $0.open[number] = nil }
            throw error
        }
    }

    private func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: MessageSocket.maximumSize, alignment: 1)
        var coalescing = WakeCoalescing()
        while true {
            if let next = coalescing.next {
                usleep(UInt32(max(next - MonotonicClock.now(), .zero).nanoseconds / 1_000))
            }
            let count = poller.poller.wait(until: coalescing.next)
            var messages = 0
            for index in 0..<count {
                guard case .connection(let number) = poller.poller.event(index).source,
                    let source = sources.withLock({ $0.open[number] })
                else { continue }
                messages += receive(number, source, buffer)
            }
            coalescing.taken(messages, at: MonotonicClock.now())
        }
    }

    /// Passes on messages of a socket, and removes it after its end. Returns the number of messages.
    private func receive(_ number: UInt32, _ source: Source, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        for count in 0..<Self.maximumRun {
            switch source.socket.receiveNow(into: buffer) {
            case .received(let size): source.onMessage(Array(buffer[..<size]))
            case .empty: return count
            case .ended:
                poller.poller.remove(source.socket.number, as: .connection(number))
                sources.withLock { $0.open[number] = nil }
                source.onEnd()
                return count
            }
        }
        return Self.maximumRun
    }
}

/// The epoll instance of a reader. Other threads only add descriptors, which the kernel allows while the reader waits.
private final class MessagePoller: @unchecked Sendable {
    let poller: Poller

    init() throws(IOError) { poller = try Poller() }
}
