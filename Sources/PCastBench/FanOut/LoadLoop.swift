import CLinux
import Foundation
import PCastCore
import PCastIO
import Synchronization

/// The thread of a load generator. It runs many peers on one socket.
///
/// It resembles `EventLoop` with less overhead, because it serves hundreds of peers, and the load generator must not
/// limit the measurement.
final class LoadLoop<M: DatagramMachine & ~Copyable>: Sendable {
    typealias Work = @Sendable (inout M, Instant) -> Void

    let port: UInt16
    private let inbox: Inbox
    private let thread: WorkerThread

    private final class Inbox: Sendable {
        let items = Mutex<[Work]>([])
        let isOver = Atomic(false)
        let isPaused = Atomic(false)
        /// The lost datagrams; see `LoadSocket.Arrival`.
        let drops = Atomic<UInt32>(0)
        let unsent = Atomic<Int>(0)
        /// The number of received datagrams and messages.
        let datagrams = Atomic<Int>(0)
        let messages = Atomic<Int>(0)
        let processorTime = Atomic<Int64>(0)
        let wake = clinux_eventfd()

        deinit { close(wake) }

        func ring() {
            var one: UInt64 = 1
            _ = write(wake, &one, 8)
        }
    }

    convenience init(name: String, makeMachine: @escaping @Sendable () -> sending M) throws {
        try self.init(name: name) { _ in makeMachine() }
    }

    /// Starts the thread. `makeMachine` receives the port of the socket.
    init(name: String, makeMachine: @escaping @Sendable (UInt16) -> sending M) throws {
        let socket = try LoadSocket()
        let port = socket.port
        self.port = port
        let inbox = Inbox()
        self.inbox = inbox
        // The socket is transferred to the thread, which owns it from then on.
        let passed = Unmanaged.passRetained(socket)
        nonisolated(unsafe) let reference = passed.toOpaque()
        thread = try WorkerThread(name: name) {
            let driver = Driver(
                Unmanaged<LoadSocket>.fromOpaque(reference).takeRetainedValue(), inbox, makeMachine(port))
            driver.run()
        }
    }

    deinit { stop() }

    func call<R: Sendable>(_ body: @escaping @Sendable (inout M, Instant) -> R) async -> R {
        await withCheckedContinuation { continuation in
            inbox.items.withLock { $0.append { machine, now in continuation.resume(returning: body(&machine, now)) } }
            inbox.ring()
        }
    }

    func submit(_ work: @escaping Work) {
        inbox.items.withLock { $0.append(work) }
        inbox.ring()
    }

    /// The number of datagrams that this side lost because it was late or could not send.
    var ownDrops: Int { Int(inbox.drops.load(ordering: .relaxed)) + inbox.unsent.load(ordering: .relaxed) }

    /// The number of received datagrams and messages. On the same machine, messages have the sizes in which they were
    /// sent (UDP_GRO).
    var received: (datagrams: Int, messages: Int) {
        (inbox.datagrams.load(ordering: .relaxed), inbox.messages.load(ordering: .relaxed))
    }

    /// The CPU time of the thread.
    var processorTime: TimeSpan { .nanoseconds(inbox.processorTime.load(ordering: .relaxed)) }

    /// Stops reading and sending. The kernel drops incoming datagrams.
    func rest() {
        inbox.isPaused.store(true, ordering: .releasing)
        inbox.ring()
    }

    /// Ends the thread after all pending work.
    func stop() {
        inbox.isOver.store(true, ordering: .releasing)
        inbox.ring()
        thread.join()
    }

    /// The state of the thread.
    private final class Driver {
        private let socket: LoadSocket
        private let inbox: Inbox
        private var machine: M
        private var batch = DatagramBatch()
        private var now = MonotonicClock.now()
        private let poller = clinux_epoll_create()
        private let events = UnsafeMutablePointer<clinux_event>.allocate(capacity: Int(CLINUX_EVENTS_PER_WAIT))

        init(_ socket: LoadSocket, _ inbox: Inbox, _ machine: consuming sending M) {
            self.socket = socket
            self.inbox = inbox
            self.machine = machine
            _ = clinux_epoll_control(poller, Int32(CLINUX_ADD), socket.number, UInt32(CLINUX_READABLE), 0)
            _ = clinux_epoll_control(poller, Int32(CLINUX_ADD), inbox.wake, UInt32(CLINUX_READABLE), 1)
        }

        deinit {
            close(poller)
            events.deallocate()
        }

        func run() {
            while !inbox.isOver.load(ordering: .acquiring), !inbox.isPaused.load(ordering: .acquiring) {
                runIteration()
            }
            // Otherwise, incoming datagrams would wake the thread continuously.
            _ = clinux_epoll_control(poller, Int32(CLINUX_REMOVE), socket.number, 0, 0)
            while !inbox.isOver.load(ordering: .acquiring) {
                wait(until: nil)
                now = advancedNow()
                perform()
            }
            now = advancedNow()
            perform()
            send()
        }

        /// Runs one iteration. While datagrams are queued, the machine's time is the arrival time of the last one that
        /// was read. They arrived before now, and the lateness of this thread must not count as network delay.
        private func runIteration() {
            wait(until: machine.deadline)
            while receive() > 0 {
                perform()
                expire()
                send()
            }
            now = advancedNow()
            perform()
            expire()
            send()
            inbox.processorTime.store(Processor.threadTime.nanoseconds, ordering: .relaxed)
            inbox.unsent.store(socket.unsent, ordering: .relaxed)
        }

        private func advancedNow() -> Instant { max(now, MonotonicClock.now()) }

        private func wait(until deadline: Instant?) {
            let left = deadline.map { max(0, ($0 - advancedNow()).nanoseconds) } ?? -1
            let count = max(0, Int(clinux_epoll_wait(poller, events, left)))
            guard (0..<count).contains(where: { events[$0].token == 1 }) else { return }
            var rings: UInt64 = 0
            _ = read(inbox.wake, &rings, 8)
        }

        private func perform() {
            for work in inbox.items.withLock({ items in
                defer { items = [] }
                return items
            }) { work(&machine, now) }
        }

        private func receive() -> Int {
            let count = socket.receive()
            guard count > 0 else { return 0 }
            let clocks = MonotonicClock.reference()
            var datagrams = 0
            for index in 0..<count {
                let arrival = socket.arrival(index)
                if arrival.drops > 0 { inbox.drops.store(arrival.drops, ordering: .relaxed) }
                let time = arrival.time.map { clocks.instant(at: $0) } ?? clocks.instant
                now = max(now, min(time, clocks.instant))
                var offset = 0
                while offset < arrival.bytes.count {
                    let end = min(offset + arrival.segmentSize, arrival.bytes.count)
                    machine.handle(
                        MutableByteView(arrival.bytes).extracting(offset..<end), from: arrival.path, at: now)
                    offset = end
                    datagrams += 1
                }
            }
            inbox.messages.wrappingAdd(count, ordering: .relaxed)
            inbox.datagrams.wrappingAdd(datagrams, ordering: .relaxed)
            return count
        }

        private func expire() {
            guard let deadline = machine.deadline, deadline <= now else { return }
            machine.advance(to: now)
        }

        private func send() {
            var hasMore = true
            while hasMore {
                hasMore = machine.poll(into: &batch, at: now)
                if batch.isEmpty { return }
                socket.send(batch)
                batch.removeAll()
            }
        }
    }
}
