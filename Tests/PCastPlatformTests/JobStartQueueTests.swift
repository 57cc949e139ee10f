import PCastCore
import Synchronization
import Testing

@testable import PCastPlatform

@Suite("Processes of jobs start in turn")
struct JobStartQueueTests {
    /// The answers to jobs that waited, in their order.
    private final class Answers: Sendable {
        private let answers = Mutex<[String]>([])

        var all: [String] { answers.withLock { $0 } }

        func add(_ id: StreamID, _ mayStart: Bool) {
            answers.withLock { $0.append("\(id)\(mayStart ? "" : " ended")") }
        }
    }

    private static func id(_ number: Int) -> StreamID { StreamID("job-\(number)") }

    /// Returns a queue for two processes, in which jobs 1 and 2 start and the others up to a number wait.
    private static func queue(of count: Int, _ answers: Answers) -> JobStartQueue {
        var queue = JobStartQueue(limit: 2)
        for number in 1...count {
            let id = id(number)
            let hasBegun = queue.begin(id)
            #expect(hasBegun == (number <= 2))
            if !hasBegun { queue.wait(id) { answers.add(id, $0) } }
        }
        return queue
    }

    @Test("the jobs that wait start in their order, each when another process has started")
    func order() {
        let answers = Answers()
        var queue = Self.queue(of: 5, answers)
        #expect(answers.all.isEmpty)
        queue.finish(Self.id(2))
        #expect(answers.all == ["job-3"])
        queue.finish(Self.id(3))
        queue.finish(Self.id(1))
        #expect(answers.all == ["job-3", "job-4", "job-5"])
        let isFull = !queue.begin(Self.id(6))
        #expect(isFull)
        queue.finish(Self.id(4))
        let hasSpace = queue.begin(Self.id(6))
        #expect(hasSpace)
    }

    @Test("a process that has started, and then runs and ends, makes place for one other only")
    func once() {
        let answers = Answers()
        var queue = Self.queue(of: 5, answers)
        for _ in 0..<3 { queue.finish(Self.id(1)) }
        #expect(answers.all == ["job-3"])
        queue.finish(Self.id(99))
        #expect(answers.all == ["job-3"])
    }

    @Test("a job that ends while it waits does not start, and the next one keeps its turn")
    func ended() {
        let answers = Answers()
        var queue = Self.queue(of: 4, answers)
        queue.finish(Self.id(3))
        #expect(answers.all == ["job-3 ended"])
        queue.finish(Self.id(1))
        #expect(answers.all == ["job-3 ended", "job-4"])
    }

    @Test("by default, the starting processes keep all processors busy")
    func defaultLimit() {
        #expect(JobStartQueue.defaultLimit >= 4)
        var queue = JobStartQueue()
        for number in 0..<JobStartQueue.defaultLimit {
            let hasBegun = queue.begin(Self.id(number))
            #expect(hasBegun)
        }
        let isFull = !queue.begin(Self.id(-1))
        #expect(isFull)
    }
}
