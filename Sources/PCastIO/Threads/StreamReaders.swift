import Synchronization

/// All who read what one teller tells, each by an `AsyncStream` of its own. A value that the teller keeps under its lock, so
/// that all are told in the same order.
///
/// A task that is cancelled lets go of its stream while it holds what yielding to it waits for. So whoever goes may not wait
/// for the teller's lock, or both would wait for ever: it leaves its number, which is looked at before the next is told.
public struct StreamReaders<Element: Sendable>: Sendable {
    /// What becomes of a reader that does not keep up.
    public enum Backlog: Sendable {
        /// So many wait at most; it misses the oldest beyond that.
        case newest(Int)
        /// So many wait at most; beyond that its stream ends, as a gap could not be told from nothing having happened.
        case everything(Int)
    }

    private final class Departures: Sendable {
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
    private let departures = Departures()
    private var readers: [Int: AsyncStream<Element>.Continuation] = [:]
    private var lastNumber = 0

    public init(_ backlog: Backlog) { self.backlog = backlog }

    /// A stream of all that is told from now on; it ends with the teller, or when its reader lets go of it.
    ///
    /// - Parameter first: what it begins with.
    public mutating func add(beginningWith first: Element? = nil) -> AsyncStream<Element> {
        forgetDeparted()
        let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
            switch backlog {
            case .newest(let count): .bufferingNewest(count)
            case .everything(let count): .bufferingOldest(count)
            }
        let (stream, reader) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        lastNumber += 1
        readers[lastNumber] = reader
        reader.onTermination = { [departures, lastNumber] _ in departures.note(lastNumber) }
        if let first { reader.yield(first) }
        return stream
    }

    /// Tells all.
    public mutating func yield(_ element: Element) {
        forgetDeparted()
        for (number, reader) in readers {
            guard case .dropped = reader.yield(element), case .everything = backlog else { continue }
            reader.finish()
            readers[number] = nil
        }
    }

    /// Ends every stream.
    public mutating func finish() {
        for reader in readers.values { reader.finish() }
        readers.removeAll()
    }

    private mutating func forgetDeparted() {
        for number in departures.take() { readers[number] = nil }
    }
}
