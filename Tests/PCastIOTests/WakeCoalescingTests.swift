import Dispatch
import Glibc
import PCastCore
import Synchronization
import Testing

@testable import PCastIO

@Suite("Wake-ups of threads", .timeLimit(.minutes(2)))
struct WakeCoalescingTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test("few items wake the thread one by one")
    func few() {
        var coalescing = WakeCoalescing()
        for index in 0..<100 {
            coalescing.taken(1, at: start + .milliseconds(Int64(3 * index)))
            #expect(coalescing.next == nil)
        }
    }

    @Test("many items are looked for at intervals, until they have been few for a time")
    func many() {
        var coalescing = WakeCoalescing()
        for index in 0..<WakeCoalescing.many { coalescing.taken(1, at: start + .milliseconds(Int64(index))) }
        var now = start + .milliseconds(Int64(WakeCoalescing.many - 1))
        let last = now
        #expect(coalescing.next == now + WakeCoalescing.interval)
        while let next = coalescing.next {
            now = next
            coalescing.taken(0, at: now)
        }
        #expect(now - last >= WakeCoalescing.memory)
        #expect(now - last < WakeCoalescing.memory + WakeCoalescing.interval * 2)
    }

    @Test("frequent deferrable items of a mailbox do not signal, others do, and the order is kept")
    func mailbox() throws {
        let mailbox = try LoopMailbox<Int>()
        for index in 0..<WakeCoalescing.many { try mailbox.append(index, isDeferrable: true) }
        #expect(isReadable(mailbox))
        let taken = mailbox.take(isSignalled: true, at: start)
        #expect(taken.items == Array(0..<WakeCoalescing.many))
        #expect(taken.next == start + WakeCoalescing.interval)
        try mailbox.append(1, isDeferrable: true)
        try mailbox.append(2, isDeferrable: true)
        #expect(!isReadable(mailbox))
        try mailbox.append(3)
        #expect(isReadable(mailbox))
        try mailbox.append(4, isDeferrable: true)
        #expect(mailbox.take(isSignalled: true, at: start + .milliseconds(1)).items == [1, 2, 3, 4])
        #expect(!isReadable(mailbox))
        // Nothing comes for a time, after which each item signals again.
        #expect(mailbox.take(isSignalled: false, at: start + .milliseconds(500)).next == nil)
        try mailbox.append(5, isDeferrable: true)
        #expect(isReadable(mailbox))
        #expect(mailbox.take(isSignalled: true, at: start + .milliseconds(501)).items == [5])
    }

    @Test("all deferrable work of several threads is done in order, whether it is frequent or not")
    func work() throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let order = Mutex<[Int]>([])
        let timeouts = Mutex(0)
        let threads = try (0..<3).map { thread in
            try WorkerThread(name: "submitter") {
                let isDone = DispatchSemaphore(value: 0)
                for index in 0..<500 {
                    let isLast = index % 50 == 49
                    try? loop.submitDeferrable { _, _ in
                        order.withLock { $0.append(thread * 1000 + index) }
                        if isLast { isDone.signal() }
                    }
                    // Nothing else wakes the loop.
                    if isLast, isDone.wait(timeout: .now() + 30) != .success { timeouts.withLock { $0 += 1 } }
                }
            }
        }
        for thread in threads { thread.join() }
        loop.stop()
        #expect(timeouts.withLock { $0 } == 0)
        let done = order.withLock { $0 }
        #expect(done.count == 1_500)
        for thread in 0..<3 {
            #expect(done.filter { $0 / 1000 == thread } == (0..<500).map { thread * 1000 + $0 })
        }
    }

    private func isReadable(_ mailbox: LoopMailbox<Int>) -> Bool {
        var state = pollfd(fd: mailbox.number, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) == 1
    }
}
