import Synchronization

/// The readers of a source's elements, each with its own `AsyncStream`. The source keeps this value under its lock, so
/// that all readers receive the elements in the same order.
///
/// A cancelled task terminates its stream while it holds a lock that `yield` needs. If termination waited for the
/// source's lock, both would deadlock. Therefore a terminated reader only records its number, which the next call of
/// this value processes.
package struct StreamReaders<Element: Sendable>: Sendable {
    /// The policy for readers that are too slow.
    package enum Backlog: Sendable {
        /// At most so many elements are buffered; older ones are dropped.
        case newest(Int)
        /// At most so many elements are buffered. If more arrive, the stream ends, because the reader could not detect
        /// a gap.
        case unbroken(Int)
    }

    private final class EndedReaders: Sendable {
        private let numbers = Mutex<[Int]>([])

        func note(_ number: Int) { numbers.withLock { $0.append(number) } }

        func take() -> [Int] {
            numbers.withLock { numbers in
                defer { numbers.removeAll() }
                return numbers
            }
        }
    }

    private let backlog: Backlog
    private let departures = EndedReaders()
    private var readers: [Int: AsyncStream<Element>.Continuation] = [:]
    private var lastNumber = 0

    /// Creates an empty set of readers.
    package init(_ backlog: Backlog) { self.backlog = backlog }

    /// Adds a reader. Returns a stream of all later elements, which begins with `first` if that is not nil. It ends
    /// when `finish` is called or its reader terminates it.
    package mutating func add(beginningWith first: Element? = nil) -> AsyncStream<Element> {
        removeEndedReaders()
        let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
            switch backlog {
            case .newest(let count): .bufferingNewest(count)
            case .unbroken(let count): .bufferingOldest(count)
            }
        let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        lastNumber += 1
        readers[lastNumber] = reader
        reader.onTermination = { [departures, lastNumber] _ in departures.note(lastNumber) }
        if let first { reader.yield(first) }
        return stream
    }

    /// Sends an element to all readers.
    package mutating func yield(_ element: Element) {
        removeEndedReaders()
        for (number, reader) in readers {
            guard case .dropped = reader.yield(element), case .unbroken = backlog else { continue }
            reader.finish()
            readers[number] = nil
        }
    }

    /// Ends the streams of all readers.
    package mutating func finish() {
        for reader in readers.values { reader.finish() }
        readers.removeAll()
    }

    private mutating func removeEndedReaders() {
        for number in departures.take() { readers[number] = nil }
    }
}
