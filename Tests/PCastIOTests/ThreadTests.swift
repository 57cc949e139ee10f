import Glibc
import PCastCore
import Synchronization
import Testing

@testable import PCastIO

@Suite("Threads and queues", .timeLimit(.minutes(5)))
struct ThreadTests {
    @Test("a ring transfers everything in order between two threads")
    func ring() throws {
        let ring = BoundedRing<Int>(capacity: 100)
        #expect(ring.capacity == 128)
        let producer = try WorkerThread(name: "producer") {
            var next = 0
            while next < 100_000 { if ring.push(next) { next += 1 } else { sched_yield() } }
        }
        var expected = 0
        while expected < 100_000 {
            guard let value = ring.pop() else {
                sched_yield()
                continue
            }
            if value != expected { break }
            expected += 1
        }
        #expect(expected == 100_000)
        producer.join()
        #expect(ring.pop() == nil)
    }

    @Test("a media thread has a higher priority if permitted, and its children do not")
    func precedence() throws {
        @Sendable func niceness() -> Int32 { getpriority(Int32(PRIO_PROCESS.rawValue), 0) }
        let given = niceness()
        let mayRise = geteuid() == 0 && given == 0
        let seen = Mutex<(media: Int32, started: Int32, ordinary: Int32)>((.max, .max, .max))
        let media = try WorkerThread(name: "media", precedence: .media) {
            seen.withLock { $0.media = niceness() }
            let started = try? WorkerThread(name: "started") {
                seen.withLock { $0.started = niceness() }
            }
            started?.join()
        }
        let ordinary = try WorkerThread(name: "ordinary") {
            seen.withLock { $0.ordinary = niceness() }
        }
        media.join()
        ordinary.join()
        let (own, started, other) = seen.withLock { $0 }
        #expect(own == (mayRise ? -11 : given))
        #expect(started == given)
        #expect(other == given)
    }

    @Test("a full ring rejects elements, and releases what it holds at its end")
    func ringBound() {
        final class Marker: Sendable {}
        weak var marker: Marker?
        do {
            let ring = BoundedRing<Marker>(capacity: 2)
            let first = Marker()
            marker = first
            #expect(ring.push(first))
            #expect(ring.push(Marker()))
            #expect(!ring.push(Marker()))
            #expect(ring.count == 2)
        }
        #expect(marker == nil)
    }

    @Test("a frame queue drops and counts the oldest frames, and is drained after it was closed")
    func frameQueue() {
        let queue = FrameQueue<Int>(capacity: 2)
        #expect(queue.push(1) == nil)
        #expect(queue.push(2) == nil)
        #expect(queue.push(3) == 1)
        #expect(queue.droppedCount == 1)
        #expect(queue.pop() == 2)
        queue.close()
        #expect(queue.push(4) == 4)
        #expect(queue.pop() == 3)
        #expect(queue.pop() == nil)
    }

    @Test("a waiting reader receives the next frame, or the end")
    func frameQueueWaits() throws {
        let queue = FrameQueue<Int>(capacity: 3)
        let got = Mutex<[Int]>([])
        let consumer = try WorkerThread(name: "consumer") {
            while let frame = queue.pop() { got.withLock { $0.append(frame) } }
        }
        for index in 0..<3 { queue.push(index) }
        queue.close()
        consumer.join()
        #expect(got.withLock { $0 } == [0, 1, 2])
        #expect(queue.pop(until: MonotonicClock.now()) == nil)
        #expect(FrameQueue<Int>(capacity: 1).pop(until: MonotonicClock.now() + .milliseconds(1)) == nil)
    }

    @Test("a sleep lasts until its instant or until it is cancelled")
    func sleeping() throws {
        let moment = MonotonicClock.now() + .milliseconds(2)
        FramePacing.sleep(until: moment)
        #expect(MonotonicClock.now() >= moment)
        let sleep = CancellableSleep()
        let later = MonotonicClock.now() + .milliseconds(2)
        #expect(sleep.sleep(until: later))
        #expect(MonotonicClock.now() >= later)
        let canceller = try WorkerThread(name: "canceller") { sleep.cancel() }
        #expect(!sleep.sleep(until: MonotonicClock.now() + .seconds(600)))
        canceller.join()
        #expect(!sleep.sleep(until: MonotonicClock.now()))
    }

    @Test("a thread can be joined twice, and recognizes itself")
    func join() throws {
        let ran = Atomic(false)
        let thread = try WorkerThread(name: "a name longer than Linux keeps ☃") {
            ran.store(true, ordering: .releasing)
        }
        thread.join()
        thread.join()
        let hasRun = ran.load(ordering: .acquiring)
        #expect(hasRun)
        #expect(!thread.isCurrent)
    }

    @Test("both clocks are read together")
    func clocks() {
        let reference = MonotonicClock.reference()
        let now = MonotonicClock.now()
        #expect(now >= reference.instant)
        // The machine may be suspended between the two readings, but not each time.
        let differences = (0..<20).map { _ in
            let now = MonotonicClock.now()
            return (MonotonicClock.wallTime() - reference.wallTime(at: now)).magnitude
        }
        #expect(differences.min()! < .seconds(1))
    }

    @Test("the loopback interface is among the local addresses and recognized")
    func localAddresses() throws {
        let loopback = try LocalAddress.all().first { $0.ip == .loopbackV4 }
        #expect(loopback?.isLoopback == true)
        #expect(loopback?.interface == "lo")
    }
}
