import PCastMedia
import PCastWebRTC

/// Light viewers on one event loop, told apart by the port at which a datagram arrives.
struct LightAudience: ~Copyable, DatagramMachine {
    private static let never = Instant(nanoseconds: .max)

    private(set) var viewers: [LightViewer] = []
    /// By port, which of them; -1 for none.
    private var places = [Int32](repeating: -1, count: 65_536)
    /// Of each viewer; one block of memory that is looked through faster than a heap is kept, for hundreds.
    private var deadlines: [Instant] = []
    /// Those that may have something to send, each once.
    private var waiting: [Int] = []
    private var isWaiting: [Bool] = []

    mutating func add(_ viewer: LightViewer, at port: UInt16) {
        places[Int(port)] = Int32(viewers.count)
        viewers.append(viewer)
        deadlines.append(Self.never)
        isWaiting.append(false)
        wait(viewers.count - 1)
    }

    mutating func close(at now: Instant) {
        for index in viewers.indices {
            viewers[index].close(at: now)
            wait(index)
        }
    }

    private mutating func wait(_ index: Int) {
        guard !isWaiting[index] else { return }
        isWaiting[index] = true
        waiting.append(index)
    }

    // MARK: The machine

    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant) {
        let place = Int(places[Int(path.local.port)])
        guard place >= 0 else { return }
        viewers[place].handle(datagram, from: path, at: now)
        wait(place)
    }

    mutating func advance(to now: Instant) {
        for index in viewers.indices where deadlines[index] <= now {
            viewers[index].advance(to: now)
            wait(index)
        }
    }

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while let index = waiting.last {
            if viewers[index].poll(into: &batch, at: now) { return true }
            deadlines[index] = viewers[index].deadline ?? Self.never
            isWaiting[index] = false
            waiting.removeLast()
        }
        return false
    }

    /// Viewers have datagrams alone.
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    var deadline: Instant? {
        guard let next = deadlines.min(), next < Self.never else { return nil }
        return next
    }
}
